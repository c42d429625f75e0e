import { connect } from 'node:net';

const RESPONSE_LIMIT_MS = 2_000;
const MAXIMUM_RESPONSE_BYTES = 65_536;
const CORRELATION_ID = 7;
const PROBE_TIMEOUT_MS = 2_000;

/** The limit of one connection attempt. It is long, so that a pause of this machine does not look like a missing broker. */
const CONNECT_LIMIT_MS = 15_000;
const GROUP = 0;
const TRANSACTION = 1;
const COORDINATOR_LOADING = 14;
const COORDINATOR_NOT_AVAILABLE = 15;
const NOT_COORDINATOR = 16;

/** The group id and transactional id of the probes. No client uses this id, so the requests change nothing. */
const NOBODY = kafkaString('local-stack-probe');
const API_VERSIONS: KafkaRequest = { key: 18, version: 0, body: Buffer.alloc(0) };

const METADATA: KafkaRequest = { key: 3, version: 1, body: Buffer.alloc(4) };

const HEARTBEAT: KafkaRequest = { key: 12, version: 0, body: Buffer.concat([NOBODY, Buffer.alloc(4), NOBODY]) };

const END_TRANSACTION: KafkaRequest = { key: 26, version: 1, body: Buffer.concat([NOBODY, Buffer.alloc(8 + 2 + 1)]) };

/**
 * True if a broker answers ApiVersions, the first request of every client. An open port is not enough, because a broker
 * opens its port before it has loaded its metadata. Never rejects.
 */
export async function answersApiVersions(host: string, port: number): Promise<boolean> {
  return (await askKafka(host, port, API_VERSIONS))?.readInt16BE(0) === 0;
}

/**
 * True if the broker can lead partitions. Just after its start, a broker answers, but the controller does not use it
 * yet: Kafka calls such a broker fenced. Never rejects.
 */
export async function isUnfenced(host: string, port: number, nodeId: number): Promise<boolean> {
  const response = await askKafka(host, port, METADATA);
  return response !== undefined && brokersAlive(response).includes(nodeId);
}

/**
 * True if consumer groups and transactions can begin. FindCoordinator makes Kafka create the internal topics for both.
 * While these topics load, clients must retry. FindCoordinator can name the broker `nodeId` before this broker is the
 * coordinator. The broker then answers NOT_COORDINATOR, and is not ready. If FindCoordinator names another broker,
 * NOT_COORDINATOR is the right answer. Never rejects.
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

/** Reads a FindCoordinator response: throttle time, error, error text, node id. Undefined if there is an error. */
function coordinatorOf(response: Buffer | undefined): number | undefined {
  if (response === undefined || response.readInt16BE(4) !== 0) return undefined;
  return response.readInt32BE(endOfText(response, 6));
}

function brokersAlive(response: Buffer): number[] {
  const ids: number[] = [];
  let offset = 4;
  for (let left = response.readInt32BE(0); left > 0; left -= 1) {
    ids.push(response.readInt32BE(offset));
    offset = endOfText(response, endOfText(response, offset + 4) + 4);
  }
  return ids;
}

/** The position after the text whose length is at `start`. A negative length means that there is no text. */
function endOfText(response: Buffer, start: number): number {
  return start + 2 + Math.max(0, response.readInt16BE(start));
}

/** The parts of host:port. An IPv6 address is in brackets. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}

/** True if the address accepts TCP connections. Never rejects. */
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

/** True if a registry answers Confluent's API at this base URL. Never rejects. */
export async function answersSubjects(registryUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${registryUrl}/subjects`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** One request of Kafka's protocol, in a version whose header has no tagged fields. */
interface KafkaRequest {
  readonly key: number;
  readonly version: number;
  readonly body: Buffer;
}

/**
 * Sends one request over a separate connection. Exported for tests.
 * @returns the response's body after the correlation id; undefined without a response in time. Never rejects.
 */
export function askKafka(host: string, port: number, request: KafkaRequest): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: RESPONSE_LIMIT_MS });
    let response = Buffer.alloc(0);
    const finish = (body?: Buffer) => {
      socket.destroy();
      resolve(body);
    };
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => finish());
    socket.once('connect', () => socket.write(frame(request)));
    socket.on('data', (chunk) => {
      response = Buffer.concat([response, chunk]);
      const length = response.length < 4 ? MAXIMUM_RESPONSE_BYTES : response.readInt32BE(0);
      if (response.length > MAXIMUM_RESPONSE_BYTES) finish();
      else if (response.length >= 4 + length) finish(bodyOf(response));
    });
  });
}

/** The bytes of a request: length, API key, version, correlation id, no client id, then the body. */
function frame({ key, version, body }: KafkaRequest): Buffer {
  const header = Buffer.alloc(14);
  header.writeInt32BE(10 + body.length, 0);
  header.writeInt16BE(key, 4);
  header.writeInt16BE(version, 6);
  header.writeInt32BE(CORRELATION_ID, 8);
  header.writeInt16BE(-1, 12);
  return Buffer.concat([header, body]);
}

function bodyOf(response: Buffer): Buffer | undefined {
  return response.length > 8 && response.readInt32BE(4) === CORRELATION_ID ? response.subarray(8) : undefined;
}

/** A text in Kafka's protocol: two bytes of length, then UTF-8. */
function kafkaString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
