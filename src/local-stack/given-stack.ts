import { ConnectorError } from '../errors.ts';
import { acceptsConnections, hostAndPort } from './probes.ts';
import type { LocalStack, StackContext } from './stack-context.ts';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * The stack that the environment names, or undefined when it names none.
 *
 * Only connections are tried, no requests: the servers may ask for TLS and credentials that are not known here.
 *
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
