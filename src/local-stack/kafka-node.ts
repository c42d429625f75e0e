import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConnectorError } from '../errors.ts';
import { asProperties, type BrokerSettings, type NodeAddress } from './broker-settings.ts';
import { kafkaVersion } from './java-artifacts.ts';
import { type JavaProcess, startJavaProcess } from './java-process.ts';
import type { JavaRuntime } from './java-runtime.ts';
import { answersApiVersions, answersCoordinators, hostAndPort, isUnfenced } from './probes.ts';
import { untilReady } from './ready.ts';
import type { StackContext } from './stack-context.ts';

const FORMAT_TIMEOUT_MS = 600_000;
const READY_LIMIT_MS = 600_000;
const HEAP_MB = 320;
const LOG_FLAGS = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
];

export interface KafkaNodeOptions {
  readonly context: StackContext;
  readonly java: JavaRuntime;
  readonly javaFlags: readonly string[];
  /** The folder with Kafka's jars. */
  readonly jars: string;
  readonly address: NodeAddress;
  readonly clusterId: string;
  /** Holds the node's data and settings. */
  readonly folder: string;
  readonly logFile: string;
  readonly settings: BrokerSettings;
  /** Removed when we are killed hard. */
  readonly removeWithOrphan: readonly string[];
}

/** One broker of a cluster. */
export interface KafkaNode {
  /** Resolves when the broker answers, and may lead and coordinate. Its data is kept from an earlier run. */
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** undefined while it does not run. */
  pid(): number | undefined;
  /** Why it ended by itself, in words; undefined while it runs or when we ended it. */
  ended(): string | undefined;
}

export function createKafkaNode(options: KafkaNodeOptions): KafkaNode {
  const { context, folder, address } = options;
  const settingsFile = join(folder, 'server.properties');
  const data = join(folder, 'data');
  let running: JavaProcess | undefined;

  const format = async () => {
    if (existsSync(join(data, 'meta.properties'))) return;
    const format = ['format', '--cluster-id', options.clusterId, '--config', settingsFile];
    try {
      await promisify(execFile)(
        options.java.program,
        ['-XX:TieredStopAtLevel=1', '-cp', join(options.jars, '*'), 'kafka.tools.StorageTool', ...format],
        { signal: context.signal, timeout: FORMAT_TIMEOUT_MS },
      );
    } catch (error) {
      context.signal.throwIfAborted();
      const { stderr } = error as { stderr?: string };
      const reason = stderr?.split('\n').find((line) => /exception|error/i.test(line)) ?? String(error);
      const message = `Kafka could not format its data folder ${data}: ${reason.trim().slice(0, 300)}`;
      throw new ConnectorError('STACK_UNAVAILABLE', message, { cause: error });
    }
  };

  const end = async (how: 'stop' | 'kill') => {
    const ending = running;
    running = undefined;
    await ending?.[how]();
  };

  return {
    async start() {
      await mkdir(folder, { recursive: true });
      await writeFile(settingsFile, asProperties({ ...options.settings, 'log.dirs': data }));
      await format();
      const started = await startJavaProcess({
        java: options.java,
        arguments: [...LOG_FLAGS, ...options.javaFlags, '-cp', join(options.jars, '*'), 'kafka.Kafka', settingsFile],
        maximumHeapMb: HEAP_MB,
        folder,
        logFile: options.logFile,
        removeWithOrphan: options.removeWithOrphan,
        clock: context.clock,
      });
      running = started;
      const { host, port } = hostAndPort(address.listener);
      // A test's own listener may want TLS or credentials, of which the probe has none.
      const isPlain = options.settings.listeners?.startsWith(`PLAINTEXT://${address.listener}`);
      const serves = async () =>
        (await isUnfenced(host, port, address.id)) && answersCoordinators(host, port, address.id);
      const ready = untilReady({
        name: `Kafka ${kafkaVersion(context.env)} at ${address.listener}`,
        probe: async () => (await answersApiVersions(host, port)) && (!isPlain || serves()),
        ended: started.ended,
        limitMs: READY_LIMIT_MS,
        clock: context.clock,
        signal: context.signal,
        onProgress: context.onProgress,
      });
      await ready.catch(async (error: unknown) => {
        await end('kill');
        throw error;
      });
    },
    stop: () => end('stop'),
    kill: () => end('kill'),
    pid: () => running?.pid,
    ended: () => running?.ended(),
  };
}
