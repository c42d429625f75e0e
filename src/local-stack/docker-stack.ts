import type { ContainerRuntimeClient } from 'testcontainers';
import { ConnectorError } from '../errors.ts';
import { within } from '../support/deadline.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { asEnvironment, brokerSettings } from './broker-settings.ts';
import { type ContainerOptions, startContainer } from './docker-container.ts';
import { type Dockerode, ensureImage } from './docker-images.ts';
import { freePorts } from './free-ports.ts';
import { KAFKA_VERSION, kafkaVersion } from './java-artifacts.ts';
import { newClusterId } from './kafka-cluster.ts';
import { answersApiVersions, answersCoordinators, answersSubjects } from './probes.ts';
import { untilReady } from './ready.ts';
import { CONFLUENT_API_PATH } from './registry.ts';
import type { LocalStack, StackOptions } from './stack-context.ts';
import { startTogether } from './start-together.ts';

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
 * Starts one broker and a registry as containers. testcontainers finds the daemon (a socket, DOCKER_HOST, Podman, Colima);
 * its own guard container, one more image to pull, is not used: a shell removes the containers if we are killed hard.
 *
 * @throws ConnectorError STACK_UNAVAILABLE within seconds when there is no daemon, or no image can be had.
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
  // The port is published on IPv4 alone, and "localhost" may mean IPv6.
  return { docker: client.container.dockerode, host: host === 'localhost' ? '127.0.0.1' : host };
}

async function runtimeClient(): Promise<ContainerRuntimeClient> {
  let testcontainers: typeof import('testcontainers');
  try {
    // Loaded only here: it is no dependency of the connector in production.
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
