import { connect } from 'node:net';
import { askKafka, type KafkaRequest, kafkaString } from './kafka-requests.ts';

const PROBE_TIMEOUT_MS = 2_000;
/** Asked once: so long that a standstill of this machine is not taken for a broker that is not there. */
const CONNECT_LIMIT_MS = 15_000;

const GROUP = 0;
const TRANSACTION = 1;
const COORDINATOR_LOADING = 14;
const COORDINATOR_NOT_AVAILABLE = 15;
const NOT_COORDINATOR = 16;

/** A group and a transactional id without an owner: requests about them change nothing. */
const NOBODY = kafkaString('local-stack-probe');

const API_VERSIONS: KafkaRequest = { key: 18, version: 0, body: Buffer.alloc(0) };
/** Of the brokers, and of no topic. */
const METADATA: KafkaRequest = { key: 3, version: 1, body: Buffer.alloc(4) };
/** Group, generation id, member. */
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
 * Whether a broker may lead partitions. For a moment after its start it may not: it answers, but the cluster keeps it
 * fenced, creates no topic on it, and no partition that only it has can be read or written. Never rejects.
 */
export async function isUnfenced(host: string, port: number, nodeId: number): Promise<boolean> {
  const response = await askKafka(host, port, METADATA);
  return response !== undefined && brokersAlive(response).includes(nodeId);
}

/**
 * Whether consumer groups and transactions can begin. The first question makes the broker create the topics in which it
 * keeps them; until they are loaded, clients are asked to retry, and some give up. Never rejects.
 *
 * @param nodeId of the broker asked: what it says of itself it must live up to. The cluster may name it as the coordinator
 *   before it serves the partitions that it leads.
 */
export async function answersCoordinators(host: string, port: number, nodeId: number): Promise<boolean> {
  const ask = (request: KafkaRequest) => askKafka(host, port, request);
  const isLoaded = async (kind: number, question: KafkaRequest, errorAt: number) => {
    const coordinator = coordinatorOf(await ask(findCoordinator(kind)));
    if (coordinator === undefined) return false;
    const error = (await ask(question))?.readInt16BE(errorAt) ?? COORDINATOR_NOT_AVAILABLE;
    if (error === NOT_COORDINATOR) return coordinator !== nodeId;
    return error !== COORDINATOR_LOADING && error !== COORDINATOR_NOT_AVAILABLE;
  };
  return (await isLoaded(GROUP, HEARTBEAT, 0)) && (await isLoaded(TRANSACTION, END_TRANSACTION, 4));
}

function findCoordinator(kind: number): KafkaRequest {
  return { key: 10, version: 2, body: Buffer.concat([NOBODY, Buffer.of(kind)]) };
}

/** The node id in a response of throttle time, error, text and node; undefined when there is an error. */
function coordinatorOf(response: Buffer | undefined): number | undefined {
  if (response === undefined || response.readInt16BE(4) !== 0) return undefined;
  return response.readInt32BE(endOfText(response, 6));
}

/** The node ids in a list of node, host, port and rack. */
function brokersAlive(response: Buffer): number[] {
  const ids: number[] = [];
  let offset = 4;
  for (let left = response.readInt32BE(0); left > 0; left -= 1) {
    ids.push(response.readInt32BE(offset));
    offset = endOfText(response, endOfText(response, offset + 4) + 4);
  }
  return ids;
}

/** Where a text ends that begins here with its length; a negative one means no text. */
function endOfText(response: Buffer, start: number): number {
  return start + 2 + Math.max(0, response.readInt16BE(start));
}

/** The parts of host:port; an IPv6 address is in brackets. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}

/** Whether something accepts TCP connections there. Never rejects. */
export function acceptsConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_LIMIT_MS });
    const finish = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => finish(true));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => finish(false));
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
