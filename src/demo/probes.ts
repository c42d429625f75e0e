import { connect, type Socket } from 'node:net';

const PROBE_TIMEOUT_MS = 2_000;
const API_VERSIONS = 18;
const CORRELATION_ID = 7;
/** Length, correlation id and error code: the part of the answer that we look at. */
const ANSWER_HEAD_BYTES = 10;

/**
 * Whether a Kafka broker answers ApiVersions, the first request of every client. A port that merely listens may belong to
 * a broker that is still loading its metadata. Never rejects.
 */
export function answersApiVersions(host: string, port: number): Promise<boolean> {
  return converse(host, port, (socket, settle) => {
    let answer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < ANSWER_HEAD_BYTES) return;
      settle(answer.readInt32BE(4) === CORRELATION_ID && answer.readInt16BE(8) === 0);
    });
    socket.write(apiVersionsRequest());
  });
}

/** The parts of host:port; an IPv6 address stands in brackets. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}

/** Whether something accepts TCP connections there. Never rejects. */
export function acceptsConnections(host: string, port: number): Promise<boolean> {
  return converse(host, port, (_socket, settle) => settle(true));
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

/** ApiVersions, version 0: no body; the header names the request, its version, our id and no client. */
function apiVersionsRequest(): Buffer {
  const request = Buffer.alloc(14);
  request.writeInt32BE(10, 0);
  request.writeInt16BE(API_VERSIONS, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(CORRELATION_ID, 8);
  request.writeInt16BE(-1, 12);
  return request;
}

function converse(
  host: string,
  port: number,
  onConnect: (socket: Socket, settle: (answer: boolean) => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PROBE_TIMEOUT_MS });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('connect', () => onConnect(socket, settle));
  });
}
