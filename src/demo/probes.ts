import { connect } from 'node:net';
import { askKafka, type KafkaRequest, kafkaString } from './kafka-requests.ts';

const PROBE_TIMEOUT_MS = 2_000;
/** Asked once: so long that a standstill of this machine is not taken for a broker that is not there. */
const CONNECT_LIMIT_MS = 15_000;

const GROUP = 0;
const TRANSACTION = 1;
const COORDINATOR_LOADING = 14;
const COORDINATOR_NOT_AVAILABLE = 15;

/** A group and a transactional id that nobody has: asking about them changes nothing. */
const NOBODY = kafkaString('local-stack-probe');

const API_VERSIONS: KafkaRequest = { key: 18, version: 0, body: Buffer.alloc(0) };
/** Group, generation, member. */
const HEARTBEAT: KafkaRequest = { key: 12, version: 0, body: Buffer.concat([NOBODY, Buffer.alloc(4), NOBODY]) };
/** Transactional id, producer id, epoch, whether to commit. */
const END_TRANSACTION: KafkaRequest = { key: 26, version: 1, body: Buffer.concat([NOBODY, Buffer.alloc(8 + 2 + 1)]) };

/**
 * Whether a Kafka broker answers ApiVersions, the first request of every client. A port that merely listens may belong to
 * a broker that is still loading its metadata. Never rejects.
 */
export async function answersApiVersions(host: string, port: number): Promise<boolean> {
  return (await askKafka(host, port, API_VERSIONS))?.readInt16BE(0) === 0;
}

/**
 * Whether consumer groups and transactions can begin. The first question makes the broker create the topics in which it
 * keeps them; until they are loaded, clients are told to come back, and some give up. Never rejects.
 */
export async function answersCoordinators(host: string, port: number): Promise<boolean> {
  const errorOf = async (request: KafkaRequest, offset: number) =>
    (await askKafka(host, port, request))?.readInt16BE(offset) ?? COORDINATOR_NOT_AVAILABLE;
  const isLoaded = (error: number) => error !== COORDINATOR_LOADING && error !== COORDINATOR_NOT_AVAILABLE;
  return (
    (await errorOf(findCoordinator(GROUP), 4)) === 0 &&
    (await errorOf(findCoordinator(TRANSACTION), 4)) === 0 &&
    isLoaded(await errorOf(HEARTBEAT, 0)) &&
    isLoaded(await errorOf(END_TRANSACTION, 4))
  );
}

function findCoordinator(kind: number): KafkaRequest {
  return { key: 10, version: 2, body: Buffer.concat([NOBODY, Buffer.of(kind)]) };
}

/** The parts of host:port; an IPv6 address stands in brackets. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}

/** Whether something accepts TCP connections there. Never rejects. */
export function acceptsConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_LIMIT_MS });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => settle(false));
  });
}

/** Whether a schema registry answers Confluent's API under this base URL. Never rejects. */
export async function answersSubjects(registryUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${registryUrl}/subjects`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
