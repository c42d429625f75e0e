import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerRuntimeClient } from 'testcontainers';
import { ConnectorError } from '../../errors.ts';
import { within } from '../../support/deadline.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { asEnvironment, brokerSettings } from './broker-settings.ts';
import { freePorts } from './free-ports.ts';
import { KAFKA_VERSION, kafkaVersion } from './java-artifacts.ts';
import { type EndWatch, runWhenOrphaned } from './java-process.ts';
import { newClusterId } from './kafka-cluster.ts';
import { answersApiVersions, answersCoordinators, answersSubjects } from './probes.ts';
import { CONFLUENT_API_PATH } from './registry.ts';
import {
  type LocalStack,
  type StackContext,
  type StackEnvironment,
  type StackOptions,
  startTogether,
  untilReady,
} from './stack-context.ts';

/** The time limit for the first response to an image pull. A pull without a response in this time usually fails. */
const FIRST_ANSWER_LIMIT_MS = 6_000;

/** The longest time between two progress lines of an image pull. */
const STALL_LIMIT_MS = 60_000;

/** Marks our containers, so that a person can find them: `docker ps --filter label=structured-products-connect`. */
const LABEL = 'structured-products-connect';
const LOG_LINES_KEPT = 500;
const KAFKA = 'apache/kafka';

/** Exported for tests. */
export const KAFKA_IMAGE = `${KAFKA}:${KAFKA_VERSION}`;

/** Exported for tests. */
export const REGISTRY_IMAGE = 'apicurio/apicurio-registry:3.3.3';
const DAEMON_LIMIT_MS = 5_000;
const READY_LIMIT_MS = 600_000;
const KAFKA_PORT = 9092;
const REGISTRY_PORT = 8080;

/**
 * Starts one broker and a schema registry as Docker containers. The package testcontainers finds the Docker daemon (a
 * socket, DOCKER_HOST, Podman, Colima). The guard container of testcontainers is not used, because it needs one more
 * image. If this process is killed by SIGKILL, a shell script removes the containers.
 * @throws ConnectorError STACK_UNAVAILABLE within seconds if there is no daemon, or an image is not available.
 */
export async function startDockerStack(options: StackOptions): Promise<LocalStack> {
  const { docker, host } = await daemon(options);
  const kafkaImage = `${KAFKA}:${kafkaVersion(options.env)}`;
  await Promise.all([kafkaImage, REGISTRY_IMAGE].map((image) => ensureImage(docker, image, options)));
  options.onProgress(`Docker: starting ${kafkaImage} and ${REGISTRY_IMAGE}.`);
  const [kafkaPort = 0, registryPort = 0] = await freePorts(2);
  const broker = `${host}:${kafkaPort}`;
  const registryUrl = `http://${host}:${registryPort}${CONFLUENT_API_PATH}`;
  const node = { id: 1, listener: `0.0.0.0:${KAFKA_PORT}`, advertised: broker, controller: 'localhost:9093' };
  const shared = { docker, hostAddress: host === '127.0.0.1' ? host : '', env: options.env };

  const isKafkaReady = async () =>
    (await answersApiVersions(host, kafkaPort)) && answersCoordinators(host, kafkaPort, node.id);

  const parts = await startTogether([
    () =>
      startPart(options, `Kafka at ${broker}`, isKafkaReady, {
        ...shared,
        image: kafkaImage,
        containerEnv: {
          ...asEnvironment(brokerSettings(node, [node], options.brokerSettings ?? {})),
          KAFKA_HEAP_OPTS: '-Xms64m -Xmx320m',
          CLUSTER_ID: newClusterId(),
        },
        containerPort: KAFKA_PORT,
        hostPort: kafkaPort,
      }),
    () =>
      startPart(options, `Apicurio Registry at ${registryUrl}`, () => answersSubjects(registryUrl), {
        ...shared,
        image: REGISTRY_IMAGE,
        containerEnv: {},
        containerPort: REGISTRY_PORT,
        hostPort: registryPort,
      }),
  ]);
  const stop = async () => {
    await Promise.all(parts.map((part) => part.stop()));
  };
  return { brokers: [broker], registryUrl, how: 'docker', stop };
}

async function daemon({ clock, signal }: StackOptions): Promise<{ docker: Dockerode; host: string }> {
  const late = () => new Error(`the Docker daemon took longer than ${DAEMON_LIMIT_MS / 1000} s`);
  const client = await within(untilAborted(runtimeClient(), signal), DAEMON_LIMIT_MS, clock, late);
  const host = client.info.containerRuntime.host;
  // The port is published only on IPv4, and "localhost" may mean IPv6.
  return { docker: client.container.dockerode, host: host === 'localhost' ? '127.0.0.1' : host };
}

async function runtimeClient(): Promise<ContainerRuntimeClient> {
  let testcontainers: typeof import('testcontainers');
  try {
    // Imported late, because the connector in production runs without the package testcontainers.
    testcontainers = await import('testcontainers');
  } catch (error) {
    throw new ConnectorError('STACK_UNAVAILABLE', 'the package testcontainers is not installed', { cause: error });
  }
  try {
    return await testcontainers.getContainerRuntimeClient();
  } catch (error) {
    throw new ConnectorError('STACK_UNAVAILABLE', 'no daemon responds', { cause: error });
  }
}

async function startPart(
  { clock, signal, onProgress }: StackOptions,
  name: string,
  probe: () => Promise<boolean>,
  options: ContainerOptions,
) {
  const container = await startContainer(options);
  try {
    await untilReady({ name, probe, ended: container.ended, limitMs: READY_LIMIT_MS, clock, signal, onProgress });
    return container;
  } catch (error) {
    if (!signal.aborted) onProgress(`Docker: the log of ${options.image} is in ${await container.saveLog()}.`);
    await container.stop();
    throw error;
  }
}

interface ContainerOptions {
  readonly docker: Dockerode;
  readonly image: string;
  readonly containerEnv: Readonly<Record<string, string>>;
  readonly containerPort: number;
  readonly hostPort: number;
  /** The address of this machine on which Docker publishes the port; empty: all addresses. */
  readonly hostAddress: string;
  /** The environment of the `docker rm` that removes the container if this process is killed by SIGKILL. */
  readonly env: StackEnvironment;
}

interface DockerContainer {
  /** The reason why the container ended; undefined while the container runs. */
  ended(): string | undefined;
  /** Writes the last lines of the container's log to a new file and returns the path of the file. */
  saveLog(): Promise<string>;
  /** Stops and removes the container with its data. A second call does nothing. */
  stop(): Promise<void>;
}

async function startContainer(options: ContainerOptions): Promise<DockerContainer> {
  const { docker, image, containerPort, hostPort, hostAddress } = options;
  const port = `${containerPort}/tcp`;
  const container = await docker.createContainer({
    Image: image,
    Env: Object.entries(options.containerEnv).map(([name, value]) => `${name}=${value}`),
    Labels: { [LABEL]: 'local-stack' },
    // With a terminal, Docker adds no binary header to each part of the log.
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

export type Dockerode = ContainerRuntimeClient['container']['dockerode'];

/**
 * Pulls the image if the daemon does not have it, and fails quickly if the image is not available. Exported for tests.
 * @throws ConnectorError STACK_UNAVAILABLE with the daemon's reason.
 */
export async function ensureImage(docker: Dockerode, image: string, context: StackContext): Promise<void> {
  if (await isThere(docker, image)) return;
  context.onProgress(`Docker: pulling ${image}, once.`);
  const gaveUp = new AbortController();
  try {
    await pull(docker, image, context, gaveUp.signal);
  } catch (error) {
    context.signal.throwIfAborted();
    throw new ConnectorError('STACK_UNAVAILABLE', `${image} cannot be pulled: ${firstLine(error)}`, { cause: error });
  } finally {
    // The daemon ends the pull when the client disconnects.
    gaveUp.abort();
  }
}

async function isThere(docker: Dockerode, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

async function pull(docker: Dockerode, image: string, context: StackContext, abortSignal: AbortSignal): Promise<void> {
  const inTime = <T>(work: Promise<T>, what: string, limitMs: number) => {
    const late = () => new Error(`${what} took longer than ${limitMs / 1000} s`);
    return within(untilAborted(work, context.signal), limitMs, context.clock, late);
  };
  const request: Promise<NodeJS.ReadableStream> = docker.pull(image, { abortSignal });
  const stream = await inTime(request, 'the first response', FIRST_ANSWER_LIMIT_MS);
  const chunks = stream[Symbol.asyncIterator]();
  let text = '';
  for (let limitMs = FIRST_ANSWER_LIMIT_MS; ; limitMs = STALL_LIMIT_MS) {
    const chunk = await inTime(Promise.resolve(chunks.next()), 'the next part', limitMs);
    if (chunk.done) return;
    const lines = `${text}${chunk.value}`.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { error } = line.trim() ? JSON.parse(line) : {};
      if (error) throw new Error(error);
    }
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n', 1)[0]?.slice(0, 300) ?? '';
}
