import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dockerode } from './docker-images.ts';
import { type EndWatch, runWhenOrphaned } from './orphan-watch.ts';
import type { StackEnvironment } from './stack-context.ts';

/** Marks what we start, so that a person can find it: `docker ps --filter label=structured-products-connect`. */
const LABEL = 'structured-products-connect';
const LOG_LINES_KEPT = 500;

export interface ContainerOptions {
  readonly docker: Dockerode;
  readonly image: string;
  readonly containerEnv: Readonly<Record<string, string>>;
  readonly containerPort: number;
  readonly hostPort: number;
  /** The host's address on which the port is published. */
  readonly hostAddress: string;
  /** For the docker client that removes the container when we are killed hard. */
  readonly env: StackEnvironment;
}

/** One container that we started. */
export interface DockerContainer {
  /** Why it ended, in words; undefined while it runs. */
  ended(): string | undefined;
  /** Writes its last lines to a new file and returns the path. */
  saveLog(): Promise<string>;
  /** Ends and removes it with its data. Harmless a second time. */
  stop(): Promise<void>;
}

export async function startContainer(options: ContainerOptions): Promise<DockerContainer> {
  const { docker, image, containerPort, hostPort, hostAddress } = options;
  const port = `${containerPort}/tcp`;
  const container = await docker.createContainer({
    Image: image,
    Env: Object.entries(options.containerEnv).map(([name, value]) => `${name}=${value}`),
    Labels: { [LABEL]: 'local-stack' },
    // With a terminal, the log is plain text, not frames.
    Tty: true,
    ExposedPorts: { [port]: {} },
    HostConfig: { PortBindings: { [port]: [{ HostIp: hostAddress, HostPort: String(hostPort) }] } },
  });
  const endWatch: EndWatch = runWhenOrphaned('docker rm --force --volumes "$@"', [container.id], options.env);
  let end: string | undefined;
  const stop = async () => {
    await container.remove({ force: true, v: true }).catch((error: { statusCode?: number }) => {
      if (error.statusCode !== 404) throw error;
    });
    endWatch();
  };
  try {
    await container.start();
  } catch (error) {
    await stop();
    throw error;
  }
  container.wait().then(
    ({ StatusCode: code }: { StatusCode: number }) => {
      end = `the container of ${image} ended with code ${code}`;
    },
    () => undefined,
  );
  return {
    ended: () => end,
    stop,
    saveLog: async () => {
      const file = join(await mkdtemp(join(tmpdir(), 'structured-products-docker-')), 'container.log');
      await writeFile(file, await container.logs({ stdout: true, stderr: true, tail: LOG_LINES_KEPT }));
      return file;
    },
  };
}
