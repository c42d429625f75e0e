import { join } from 'node:path';
import { ConnectorError } from '../../errors.ts';
import { startDockerStack } from './docker-stack.ts';
import { kafkaJars, registryFiles, registryFor } from './java-artifacts.ts';
import { usableJava } from './java-runtime.ts';
import { startKafka } from './kafka-cluster.ts';
import { acceptsConnections, hostAndPort } from './probes.ts';
import { startRegistry } from './registry.ts';
import { type LocalStack, type StackContext, type StackOptions, startTogether } from './stack-context.ts';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** One way to start a stack. Rejects with the reason, in one line, when it cannot be gone here. */
export interface StackWay {
  readonly name: string;
  start(options: StackOptions): Promise<LocalStack>;
}

const WAYS: readonly StackWay[] = [
  { name: 'Docker', start: startDockerStack },
  { name: 'Java', start: startJavaStack },
];

/**
 * Gives a Kafka and a schema registry that answer: the ones that KAFKA_BROKERS and SCHEMA_REGISTRY_URL name, or else
 * started with Docker, or else with Java and Maven. Each way that is not available is reported in one line.
 * @throws ConnectorError STACK_UNAVAILABLE, naming the three ways and why none works; the signal's reason when it
 * aborts.
 */
export async function startLocalStack(options: StackOptions, ways = WAYS): Promise<LocalStack> {
  const given = await givenStack(options);
  if (given) return given;
  const reasons: string[] = [];
  for (const way of ways) {
    options.signal.throwIfAborted();
    try {
      return await way.start(options);
    } catch (error) {
      options.signal.throwIfAborted();
      const reason = `${way.name}: ${error instanceof Error ? error.message : String(error)}`;
      options.log?.debug({ way: way.name, error }, 'A way to start the local stack is closed');
      options.onProgress(`${reason}.`);
      reasons.push(reason);
    }
  }
  throw new ConnectorError(
    'STACK_UNAVAILABLE',
    `No Kafka and no schema registry could be started. ${reasons.join('. ')}. ${THREE_WAYS}`,
  );
}

const THREE_WAYS =
  'Do one of these: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to running ones; start Docker; ' +
  'or install Java 17 or later and Maven.';

/**
 * The stack that the environment names, or undefined when it names none. Only connections are tried, no requests: the
 * servers may ask for TLS and credentials that are not known here. Exported for tests.
 * @throws ConnectorError STACK_UNAVAILABLE when only one of the two is named, or one cannot be reached.
 */
export async function givenStack({ env, onProgress }: StackContext): Promise<LocalStack | undefined> {
  const [kafka, registry] = [env.KAFKA_BROKERS, env.SCHEMA_REGISTRY_URL];
  if (!kafka && !registry) return undefined;
  if (!kafka || !registry) {
    const [set, missing] = kafka ? ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL'] : ['SCHEMA_REGISTRY_URL', 'KAFKA_BROKERS'];
    throw new ConnectorError('STACK_UNAVAILABLE', `${set} is set and ${missing} is not: set both, or neither.`);
  }
  const brokers = kafka.split(',').map((broker) => broker.trim());
  const answers = await Promise.all(
    brokers.map(hostAndPort).map(({ host, port }) => port > 0 && acceptsConnections(host, port)),
  );
  if (!answers.includes(true)) {
    throw new ConnectorError(
      'STACK_UNAVAILABLE',
      `No broker of KAFKA_BROKERS accepts connections: ${brokers.join(', ')}.`,
    );
  }
  await reachRegistry(registry);
  onProgress(`Using Kafka at ${brokers.join(', ')}, as KAFKA_BROKERS says.`);
  return { brokers, registryUrl: registry.replace(/\/+$/, ''), how: 'given', stop: async () => undefined };
}

async function reachRegistry(registryUrl: string): Promise<void> {
  const url = URL.parse(registryUrl);
  const port = url ? Number(url.port) || DEFAULT_PORTS[url.protocol] : undefined;
  if (!url || port === undefined) {
    throw new ConnectorError('STACK_UNAVAILABLE', 'SCHEMA_REGISTRY_URL is no http or https URL.');
  }
  // A URL may carry credentials: only its host is shown.
  if (!(await acceptsConnections(url.hostname.replace(/^\[(.*)\]$/, '$1'), port))) {
    throw new ConnectorError(
      'STACK_UNAVAILABLE',
      `The schema registry of SCHEMA_REGISTRY_URL accepts no connections: ${url.hostname}:${port}.`,
    );
  }
}

/**
 * Starts one broker and a registry from their Maven artifacts, on the newest Java of this machine. Exported for tests.
 * @throws ConnectorError STACK_UNAVAILABLE with the reason in one line.
 */
export async function startJavaStack(options: StackOptions): Promise<LocalStack> {
  const { dataFolder, brokerSettings } = options;
  const java = await usableJava(options.env);
  const release = registryFor(java.version);
  if (!release) throw new ConnectorError('STACK_UNAVAILABLE', `No registry runs on Java ${java.version}`);
  // One after the other and before anything runs: two Mavens at once would quarrel over one local repository.
  await kafkaJars(options);
  await registryFiles(options, release);
  options.onProgress(`Starting Kafka and Apicurio Registry ${release.version} on Java ${java.version}.`);

  const [kafka, registry] = await startTogether([
    () =>
      startKafka({
        ...options,
        java,
        ...(brokerSettings && { settings: brokerSettings }),
        ...(dataFolder && { dataFolder: join(dataFolder, 'kafka') }),
      }),
    () => startRegistry({ ...options, java, release, ...(dataFolder && { dataFolder: join(dataFolder, 'registry') }) }),
  ]);
  return {
    brokers: kafka.brokers,
    registryUrl: registry.registryUrl,
    how: 'java',
    stop: async () => {
      await Promise.all([kafka.stop(), registry.stop()]);
    },
  };
}
