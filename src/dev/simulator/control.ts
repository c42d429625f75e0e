import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { assertRule, type Endpoint, type FaultRule } from './faults/fault.ts';
import type { Replica } from './ledger/event-log.ts';
import type { Ledger, LedgerFilter } from './ledger/ledger.ts';
import { assertMembers, COUNT, type Members, MS, TEXT } from './members.ts';
import { assertChange, assertInstrument, type Change, type Published } from './universe/changes.ts';

/** The prefix of the control paths. These requests need no token, and must come from this machine (loopback). */
export const CONTROL_BASE = '/_simulator/';

const MAX_CONTROL_BODY_BYTES = 64 * 2 ** 20;
type Handler = (body: unknown, parameters: URLSearchParams) => unknown;

const BEYOND = z.union(
  [z.enum(['echo', 'newest', 'back']), z.int().min(200).max(599)],
  'echo, newest, back or a status from 200 to 599 is allowed',
);
const FILTER: Members = {
  scope: z.enum(['all', 'my']).optional(),
  legalCountry: TEXT.regex(/^[A-Z]{2}$/, 'two capital letters are expected').optional(),
};

/** For each control path with parameters: its parameters. */
const PARAMETERS: Readonly<Record<string, Members>> = {
  'GET ledger/instruments': FILTER,
  'GET ledger/events': FILTER,
  'GET requests': { last: TEXT.regex(/^\d{1,9}$/, 'a whole number is expected').optional() },
};

/** For each control path whose request body is a JSON object: its members. */
const BODIES: Readonly<Record<string, Members>> = {
  'POST checks': { id: TEXT, raw: TEXT.optional() },
  'POST mutations': { count: COUNT.optional(), perSecond: z.number().min(0).optional() },
  'POST list': { lagMs: MS },
  'POST clock': { advanceMs: MS },
  'POST failover': { lagMs: MS, beyond: BEYOND },
  'POST stream/reset': { to: TEXT.regex(/^\d+-\d+$/) },
};

/**
 * Serves the control paths, with which a test in another process controls the simulator.
 * - GET ledger/instruments, ledger/events, ledger/checks and ledger/prices return NDJSON. Instruments and events accept
 *   the parameters `scope=my` and `legalCountry`.
 * - GET requests and faults. GET tokens/keys returns the JWKS for programs that verify the tokens.
 * - POST publish takes one change or a list of changes.
 * - POST checks, mutations, list, clock, faults, tokens/expire, tokens/rotate, failover and stream/reset.
 * - DELETE faults and requests.
 */
export function createControl(
  simulator: SimulatorControl,
): (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> {
  const handlers: Readonly<Record<string, Handler>> = {
    'POST publish': (body) => {
      const changes: readonly Change[] = Array.isArray(body) ? body : [body];
      const gone = new Set<string>();
      for (const change of changes) {
        assertChange(change, (id) => simulator.has(id) && !gone.has(id));
        if (change.kind === 'vanish') gone.add(change.id);
      }
      return changes.map((change) => simulator.publish(change));
    },
    'POST checks': (body) => {
      const { id, raw } = readChecked(body);
      assertInstrument(id, simulator.has);
      return simulator.triggerCheck(id, raw);
    },
    'POST mutations': (body) => {
      const { count, perSecond } = body as { count?: number; perSecond?: number };
      if (perSecond !== undefined) simulator.setChangeRate(perSecond);
      if (count !== undefined) simulator.change(count);
      return { size: simulator.size };
    },
    'POST list': (body) => {
      simulator.setListLag((body as { lagMs: number }).lagMs);
    },
    'POST clock': (body) => {
      simulator.advanceClock((body as { advanceMs: number }).advanceMs);
      return { wallMs: simulator.wallMs() };
    },
    'POST faults': (body) => {
      const rules = (Array.isArray(body) ? body : [body]) as FaultRule[];
      for (const rule of rules) assertRule(rule);
      simulator.injectFaults(rules);
    },
    'GET faults': () => ({ rules: simulator.faultRules(), struck: simulator.faultsStruck() }),
    'DELETE faults': () => simulator.clearFaults(),
    'POST tokens/expire': () => simulator.expireTokens(),
    'POST tokens/rotate': () => simulator.rotateSigningKey(),
    'GET tokens/keys': () => simulator.signingKeys(),
    'POST failover': (body) => simulator.failOver(body as Replica | null),
    'POST stream/reset': (body) => simulator.resetStream((body as { to: string }).to),
    'GET requests': (_body, parameters) => ({
      counts: simulator.requests.counts,
      last: lastOf(simulator.requests.last, Number(parameters.get('last') ?? 100)),
    }),
    'DELETE requests': () => simulator.requests.clear(),
  };
  return async (request, response, url) => {
    const path = url.pathname.slice(CONTROL_BASE.length);
    if (!isLoopback(request.socket.remoteAddress)) return answer(response, 403, { error: 'Loopback only.' });
    const name = `${request.method} ${path}`;
    try {
      assertMembers(`The query of ${name}`, Object.fromEntries(url.searchParams), PARAMETERS[name] ?? {});
    } catch (error) {
      return answer(response, 400, { error: String(error) });
    }
    const lines = request.method === 'GET' ? ledgerLines(simulator.ledger, path, url.searchParams) : undefined;
    if (lines) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      // Ignores the error of the pipeline when the client disconnects.
      return pipeline(Readable.from(lines), response).catch(() => undefined);
    }
    const handler = handlers[name];
    if (!handler) return answer(response, 404, { error: `There is no control ${name}.` });
    const body = await readBody(request, MAX_CONTROL_BODY_BYTES);
    try {
      const given = body === undefined || body === '' ? {} : JSON.parse(body);
      const members = BODIES[name];
      if (members !== undefined && !(given === null && name === 'POST failover'))
        assertMembers(`The body of ${name}`, given, members);
      answer(response, 200, handler(given, url.searchParams) ?? {});
    } catch (error) {
      answer(response, 400, { error: String(error) });
    }
  };
}

function ledgerLines(ledger: Ledger, path: string, parameters: URLSearchParams): Iterable<string> | undefined {
  const legalCountry = parameters.get('legalCountry');
  const filter: LedgerFilter = {
    mine: parameters.get('scope') === 'my',
    ...(legalCountry !== null && { legalCountry }),
  };
  const sources: Readonly<Record<string, () => Iterable<string>>> = {
    'ledger/instruments': () => Iterator.from(ledger.instruments(filter)).map(({ text }) => `${text}\n`),
    'ledger/events': () => Iterator.from(ledger.events(filter)).map((event) => `${JSON.stringify(event)}\n`),
    'ledger/checks': () => Iterator.from(ledger.checks()).map((check) => `${JSON.stringify(check)}\n`),
    'ledger/prices': () => Iterator.from(ledger.prices()).map((prices) => `${JSON.stringify(prices)}\n`),
  };
  return sources[path]?.();
}

function readChecked(body: unknown): { id: string; raw?: string } {
  return body as { id: string; raw?: string };
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(value)}\n`);
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length <= maxBytes) chunks.push(chunk as Buffer);
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString();
}

/** Controls the simulated provider. The control paths offer the same functions over HTTP. */
export interface SimulatorControl {
  readonly ledger: Ledger;
  readonly requests: RequestLog;
  readonly size: number;
  /** True if the universe has this instrument. */
  has(id: string): boolean;
  publish(change: Change): Published;
  /** Triggers a pre-trade check and returns its id. `raw`: the JSON text of the check; the id replaces each `{id}`. */
  triggerCheck(id: string, raw?: string): string;
  change(count: number): void;
  setChangeRate(perSecond: number): void;
  /** Makes the list lag behind the event log by this time; 0 ends the lag. */
  setListLag(ms: number): void;
  /** Moves the simulated wall clock. Prices, retention, tokens and the Date header depend on this clock. */
  advanceClock(ms: number): void;
  wallMs(): number;
  injectFaults(rules: readonly FaultRule[]): void;
  clearFaults(): void;
  faultRules(): readonly FaultRule[];
  faultsStruck(): Readonly<Record<string, number>>;
  expireTokens(): void;
  rotateSigningKey(): void;
  signingKeys(): { readonly keys: readonly object[] };
  /** Calls the listener before the response to each accepted request. The returned function removes the listener. */
  onRequest(listener: (endpoint: Endpoint, url: URL) => void): () => void;
  /** Lets a replica of the provider answer. Its stream lags, and later changes of its list. Null: the provider answers again. */
  failOver(to: Replica | null): void;
  /** Removes all events. The next event gets an offset after `to`. `to` may be lower than earlier offsets. */
  resetStream(to: string): void;
}

/** One request as the simulator received it, without headers and so without a token. */
interface SeenRequest {
  readonly endpoint: Endpoint | 'unknown';
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly atMs: number;
  readonly status: number;
  readonly faults: readonly string[];
}

export interface RequestLog {
  add(request: SeenRequest): void;
  count(endpoint: Endpoint): number;
  readonly counts: Readonly<Record<string, number>>;
  readonly last: readonly SeenRequest[];
  clear(): void;
}

const MAX_REQUESTS = 2_000;

export function createRequestLog(): RequestLog {
  const counts = new Map<string, number>();
  let last: SeenRequest[] = [];
  return {
    add(request) {
      counts.set(request.endpoint, (counts.get(request.endpoint) ?? 0) + 1);
      last.push(request);
      if (last.length > MAX_REQUESTS) last = last.slice(MAX_REQUESTS / 2);
    },
    count: (endpoint) => counts.get(endpoint) ?? 0,
    get counts() {
      return Object.fromEntries(counts);
    },
    get last() {
      return last;
    },
    clear() {
      counts.clear();
      last = [];
    },
  };
}

function lastOf<Item>(items: readonly Item[], count: number): readonly Item[] {
  return items.slice(Math.max(0, items.length - count));
}
