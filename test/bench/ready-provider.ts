import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { isinCheckDigit } from '../../src/dev/simulator/universe/isin.ts';

/*
 * Instruments that cost next to nothing to serve: the rows of one page of the simulated provider, copied, with another id
 * and ISIN written over the old ones. Instrument n has the content of template row n modulo their number.
 */

const FIRST_ID = 1_000_000_000;
const ID_STEP = 7;
const ID_DIGITS = 10;

interface TemplateRow {
  readonly bytes: Buffer;
  readonly idAt: number;
  /** Undefined where the instrument has no ISIN. */
  readonly isinAt: number | undefined;
}

/** The rows of a page's body as the simulated provider writes it: each with an id of ten digits. */
function templateRows(body: string): TemplateRow[] {
  const { instruments } = JSON.parse(body) as { instruments: unknown[] };
  const starts = [...body.matchAll(/\{"id":(\d+),/g)].map(({ index }) => index);
  if (starts.length !== instruments.length) throw new Error('The page is not written as expected.');
  const end = body.lastIndexOf(']');
  return starts.map((start, row) => {
    const text = body
      .slice(start, (starts[row + 1] ?? end + 1) - 1)
      .replace(/^\{"id":\d+/, `{"id":${'0'.repeat(ID_DIGITS)}`);
    const isin = /"type":"isin","value":"([A-Z0-9]{12})"/i.exec(text);
    const bytes = Buffer.from(text);
    return {
      bytes,
      idAt: bytes.indexOf('0'.repeat(ID_DIGITS)),
      isinAt: isin ? bytes.indexOf(isin[1] ?? '') : undefined,
    };
  });
}

function idOf(index: number): number {
  return FIRST_ID + index * ID_STEP;
}

/** The first instrument whose id is this or higher. */
function indexFrom(id: number): number {
  return Math.max(0, Math.ceil((id - FIRST_ID) / ID_STEP));
}

function isinOf(index: number): string {
  const first11 = `CH${String(index).padStart(9, '0')}`;
  return first11 + isinCheckDigit(first11);
}

class RowWriter {
  readonly #rows: readonly TemplateRow[];

  constructor(rows: readonly TemplateRow[]) {
    this.#rows = rows;
  }

  row(index: number): Buffer {
    const row = this.#rowAt(index);
    const out = Buffer.allocUnsafe(row.bytes.length);
    this.#write(out, 0, index);
    return out;
  }

  /** The rows from one instrument up to another, with commas between. */
  rows(from: number, to: number): Buffer {
    let bytes = 0;
    for (let index = from; index < to; index++) bytes += this.#rowAt(index).bytes.length + 1;
    const out = Buffer.allocUnsafe(Math.max(bytes - 1, 0));
    let at = 0;
    for (let index = from; index < to; index++) {
      if (index > from) out[at++] = 0x2c;
      at = this.#write(out, at, index);
    }
    return out;
  }

  #write(out: Buffer, at: number, index: number): number {
    const row = this.#rowAt(index);
    row.bytes.copy(out, at);
    out.write(String(idOf(index)), at + row.idAt, 'latin1');
    if (row.isinAt !== undefined) out.write(isinOf(index), at + row.isinAt, 'latin1');
    return at + row.bytes.length;
  }

  #rowAt(index: number): TemplateRow {
    return this.#rows[index % this.#rows.length] as TemplateRow;
  }
}

/*
 * node test/bench/ready-provider.ts INSTRUMENTS
 *
 * Both interfaces from ready bytes, so that what is measured is the connector: a page costs a copy. It writes one line of
 * JSON with its address. `POST /control {"delayMs": 20}` makes each answer late; `{"backlog": 1000}` publishes events at
 * once, `{"perSecond": 200}` from now on; event n concerns instrument n. `GET /control` counts the calls and items of bulk.
 */

const TEMPLATES = 1_000;
const EVENTS_SINCE = 1_700_000_000_000;
const ENVELOPE_START = Buffer.from('{"event":{"type":"datachange","repayment":null,"coupon":null},"instrument":');

const instruments = Number(process.argv[2] ?? 50_000);
const { writer, price } = await templates();
const state = { delayMs: 0, published: 0, perSecond: 0, sinceMs: 0, bulkCalls: 0, bulkItems: 0 };

const server = createServer(async (request, answer) => {
  const url = new URL(request.url ?? '/', 'http://provider');
  const body = request.method === 'POST' ? await read(request) : '';
  if (url.pathname === '/control') {
    if (body !== '') control(JSON.parse(body));
    return answer.end(JSON.stringify(state));
  }
  if (state.delayMs > 0 && url.pathname !== '/token') await sleep(state.delayMs);
  const parts = respond(url, body);
  answer.setHeader('content-type', 'application/json');
  answer.setHeader('content-length', String(parts.reduce((sum, { length }) => sum + length, 0)));
  for (const part of parts) answer.write(part);
  answer.end();
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
process.once('SIGTERM', () => process.exit(0));

function respond(url: URL, body: string): Buffer[] {
  switch (url.pathname) {
    case '/token':
      return [Buffer.from('{"access_token":"ready","token_type":"Bearer","expires_in":3600}')];
    case '/v1/instruments':
      return page(url.searchParams);
    case '/v1/instruments/events':
      return events(url.searchParams);
    case '/v1/products/bulk':
      return bulk(body);
    default:
      return [Buffer.from('{}')];
  }
}

function page(query: URLSearchParams): Buffer[] {
  const limit = Number(query.get('limit') ?? TEMPLATES);
  const from = indexFrom(Number(query.get('minId') ?? 0));
  const to = Math.min(from + limit, instruments);
  const next = to < instruments ? `"/v1/instruments?minId=${idOf(to)}&limit=${limit}"` : 'null';
  const links = `],"links":{"next":${next},"events":"/v1/instruments/events?since=${offset(published())}"}}`;
  return [Buffer.from('{"instruments":['), writer.rows(Math.min(from, to), to), Buffer.from(links)];
}

function events(query: URLSearchParams): Buffer[] {
  const from = Number(query.get('since')?.split('-')[1] ?? 0);
  const maxEvents = Number(query.get('maxEvents') ?? 500);
  const to = Math.max(from, Math.min(from + maxEvents, published()));
  const parts: Buffer[] = [Buffer.from(`{"nextId":"${offset(to)}","events":[`)];
  for (let event = from; event < to; event++) {
    parts.push(ENVELOPE_START, writer.row(event % instruments), Buffer.from(event + 1 < to ? '},' : '}'));
  }
  parts.push(Buffer.from(`],"links":{"next":"/v1/instruments/events?since=${offset(to)}&maxEvents=${maxEvents}"}}`));
  return [Buffer.concat(parts)];
}

function bulk(body: string): Buffer[] {
  const isins = [...body.matchAll(/"isin":"([A-Z0-9]{12})"/g)].map(([, isin]) => isin);
  state.bulkCalls += 1;
  state.bulkItems += isins.length;
  const items = isins.map(
    (isin) => `{"responseIdentifier":{"isin":"${isin}"},"response":${price},"errorResponse":null}`,
  );
  return [Buffer.from(`{"errors":false,"items":[${items.join()}]}`)];
}

function published(): number {
  if (state.perSecond === 0) return state.published;
  return state.published + Math.floor(((Date.now() - state.sinceMs) * state.perSecond) / 1_000);
}

function offset(event: number): string {
  return `${EVENTS_SINCE}-${event}`;
}

function control(order: { delayMs?: number; backlog?: number; perSecond?: number }): void {
  state.published = published() + (order.backlog ?? 0);
  state.sinceMs = Date.now();
  state.perSecond = order.perSecond ?? state.perSecond;
  state.delayMs = order.delayMs ?? state.delayMs;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** One page of rows and one price, as the simulated provider writes them. */
async function templates() {
  const simulator = await createSimulator({ instruments: TEMPLATES, hugeIds: 0 });
  try {
    const form = { grant_type: 'client_credentials', scope: 'openid' };
    const basic = Buffer.from(`${simulator.clientId}:${simulator.clientSecret}`).toString('base64');
    const granted = await fetch(simulator.tokenUrl, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams(form),
    });
    const { access_token: token } = (await granted.json()) as { access_token: string };
    const authorization = `Bearer ${token}`;
    const list = await fetch(`${simulator.referenceDataUrl}/v1/instruments?limit=${TEMPLATES}`, {
      headers: { authorization },
    });
    const rows = await list.text();
    const isin = /"type":"isin","value":"([A-Z0-9]{12})"/i.exec(rows)?.[1];
    const asked = { items: [{ $type: 'ProductPriceOverviewRequest', isin, fields: [] }] };
    const priced = await fetch(`${simulator.marketDataUrl}/v1/products/bulk`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    const price = /"response":(\{.*\}),"errorResponse":null/.exec(await priced.text())?.[1];
    if (price === undefined) throw new Error('The simulated provider gave no price.');
    return { writer: new RowWriter(templateRows(rows)), price };
  } finally {
    await simulator.close();
  }
}
