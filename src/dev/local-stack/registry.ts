import { join } from 'node:path';
import { freePorts } from './free-ports.ts';
import { type RegistryRelease, registryFiles } from './java-artifacts.ts';
import { startJavaProcess } from './java-process.ts';
import type { JavaRuntime } from './java-runtime.ts';
import { answersSubjects } from './probes.ts';
import { openWorkFolder, type StackContext, untilReady } from './stack-context.ts';

/** Apicurio Registry serves the API of Confluent's Schema Registry at this path. */
export const CONFLUENT_API_PATH = '/apis/ccompat/v7';
const READY_LIMIT_MS = 600_000;
const HEAP_MB = 192;

export interface RegistryOptions extends StackContext {
  readonly java: JavaRuntime;
  readonly release: RegistryRelease;
  /** The folder that keeps the schemas between runs. Without `dataFolder`, the schemas are in memory. */
  readonly dataFolder?: string;
}

export interface Registry {
  readonly registryUrl: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts Apicurio Registry from its Maven artifact. Resolves when the registry answers at the path of Confluent's API.
 * @throws ConnectorError STACK_UNAVAILABLE if Maven is missing, or if the registry does not start (its log remains).
 */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const { release, clock, signal, onProgress } = options;
  const program = await registryFiles(options, release);
  const folder = await openWorkFolder('registry', options.dataFolder);
  const [port, managementPort] = await freePorts(2);
  const registryUrl = `http://127.0.0.1:${port}${CONFLUENT_API_PATH}`;
  const database = options.dataFolder && `-Dapicurio.datasource.url=jdbc:h2:file:${join(folder.path, 'schemas')}`;
  const registry = await startJavaProcess({
    java: options.java,
    arguments: [
      '-Dquarkus.http.host=127.0.0.1',
      `-Dquarkus.http.port=${port}`,
      // Two registries on one machine need different management ports too.
      '-Dquarkus.management.host=127.0.0.1',
      `-Dquarkus.management.port=${managementPort}`,
      ...(database ? [database] : []),
      '-jar',
      join(program, release.jar),
    ],
    maximumHeapMb: HEAP_MB,
    folder: folder.path,
    logFile: join(folder.path, 'registry.log'),
    removeWithOrphan: folder.isTemporary ? [folder.path] : [],
    clock,
  });
  try {
    await untilReady({
      name: `Apicurio Registry ${release.version} at ${registryUrl}`,
      probe: () => answersSubjects(registryUrl),
      ended: registry.ended,
      limitMs: READY_LIMIT_MS,
      clock,
      signal,
      onProgress,
    });
  } catch (error) {
    await registry.kill();
    if (signal.aborted) await folder.remove();
    throw error;
  }
  return {
    registryUrl,
    pid: registry.pid,
    stop: async () => {
      const failure = registry.ended();
      await registry.stop();
      if (failure === undefined) await folder.remove();
      else onProgress(failure);
    },
  };
}
