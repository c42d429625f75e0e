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

/**
 * One way to start a local stack: a Kafka and a schema registry. `start` rejects if a required program is missing.
 */
export interface StackWay {
  readonly name: string;
  start(options: StackOptions): Promise<LocalStack>;
}

const WAYS: readonly StackWay[] = [
  { name: 'Docker', start: startDockerStack },
  { name: 'Java', start: startJavaStack },
];

/**
 * Returns a running Kafka and a running schema registry. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if these variables
 * are set. Otherwise starts both programs with Docker or, without Docker, with Java and Maven. Reports the reason if
 * Docker or Java cannot be used.
 * @throws ConnectorError STACK_UNAVAILABLE with the reason of each failure and the three ways; or the signal's reason.
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
      options.log?.debug({ way: way.name, error }, 'the local stack cannot be started in this way');
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
  'Do one of these: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to running servers; start Docker; ' +
  'or install Java 17 or later and Maven.';

/**
 * The Kafka and the schema registry that the environment names; undefined if the environment names neither. Only opens
 * TCP connections, because this function does not know the TLS settings and credentials. Exported for tests.
 * @throws ConnectorError STACK_UNAVAILABLE if only one of the two is named, or one of the two cannot be reached.
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
    throw new ConnectorError('STACK_UNAVAILABLE', 'SCHEMA_REGISTRY_URL is not an http or https URL.');
  }
  // Shows only the host, because a URL may contain credentials.
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
  // Downloads one artifact after the other: two Maven processes would disturb each other in the same local repository.
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
