import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../../../src/provider/http/client.ts';
import type { Authorization } from '../../../../src/provider/http/credentials.ts';
import { createEndpointGates } from '../../../../src/provider/http/endpoint-gates.ts';
import type { HttpResponse } from '../../../../src/provider/http/http-response.ts';
import { createRequestTurns, type RequestTurns } from '../../../../src/provider/http/request-turns.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import type { Log } from '../../../../src/support/log.ts';
import { portOf } from '../../../support/network/loopback-port.ts';

/** What a busy machine may need for what takes milliseconds on an idle one. */
const PATIENCE_MS = 300_000;

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** A log that keeps its lines as text, so that tests can search them. */
export function keepingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, debug: keep, info: keep, warn: keep, error: keep };
}

/** An HTTP server on loopback that ends with the test. */
export async function serve(t: TestContext, listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  return { url: `http://127.0.0.1:${await portOf(t, server)}`, server };
}

/** A TCP server for answers that no HTTP server would give. `talk` is called once per request (GETs without a body). */
export async function serveRaw(t: TestContext, talk: (socket: Socket, request: string) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('data', (data) => talk(socket, data.toString('latin1')));
  });
  return `http://127.0.0.1:${await portOf(t, server)}`;
}

/** Turns as they come, almost without a limit and with gates of their own unless given. */
export function freeTurns(given: Partial<Parameters<typeof createRequestTurns>[0]> = {}): RequestTurns {
  const { clock = systemClock } = given;
  const gates = createEndpointGates({ clock, random: () => 1 });
  const log = keepingLog();
  return createRequestTurns({ name: 'referenceData', requestsPerSecond: 10_000, gates, clock, log, ...given });
}

export const noAuthorization: Authorization = createAuthorization(
  { type: 'none' },
  {
    name: 'referenceData',
    allowHttp: false,
    timeoutMs: 1_000,
    turns: freeTurns(),
    clock: systemClock,
    random: () => 0.5,
    log: keepingLog(),
  },
);

/** A client that ends with the test. */
export function clientFor(t: TestContext, baseUrl: string, options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = createHttpClient({
    name: 'referenceData',
    baseUrl,
    allowHttp: false,
    timeoutMs: 20_000,
    maxBodyBytes: 1_000_000,
    turns: freeTurns(),
    authorization: noAuthorization,
    clock: systemClock,
    log: keepingLog(),
    ...options,
  });
  t.after(() => client.close());
  return client;
}

/** Waits until this holds; after a long while it gives up, and the assertion that follows says what is wrong. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await holds()) && performance.now() < deadlineMs) await delay(5);
}

/** Reads an answer's body to its end. */
export async function text(answer: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** The request that most tests send. */
export const page = { path: '/v1/instruments', query: [['limit', '1000']] as const };

/** What a plain JSON answer says in its headers. */
export const json = { 'content-type': 'application/json' };
