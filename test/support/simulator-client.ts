import assert from 'node:assert/strict';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../src/dev/simulator/options.ts';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';

/** An answer as bytes, so that no digit passes through a double. */
interface Received {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly body: Buffer;
  /** Parsed, numbers rounded: for shapes, not for digits. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes.
  readonly json: any;
}

export type ProviderClient = Awaited<ReturnType<typeof startProvider>>;

export async function startProvider(t: TestContext, options: SimulatorOptions = {}) {
  const simulator = await createSimulator({ instruments: 60, ...options });
  t.after(() => simulator.close());
  let authorization = '';
  const call = (method: string, path: string, body: string, headers: Record<string, string>) =>
    exchange(new URL(path, simulator.url), method, body, { ...(authorization && { authorization }), ...headers });
  const client = {
    simulator,
    /** GET a path (with the base of an interface) or a link, with a valid token. */
    get: (path: string, headers: Record<string, string> = {}) => call('GET', path, '', headers),
    post: (path: string, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      call('POST', path, body, headers),
    /** Fetches a token; the next requests carry it. */
    async login() {
      const secret = { client_id: simulator.clientId, client_secret: simulator.clientSecret };
      const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'openid', ...secret });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const { json } = await exchange(new URL(simulator.tokenUrl), 'POST', form.toString(), headers);
      authorization = `Bearer ${json.access_token}`;
    },
  };
  if (options.auth !== false) await client.login();
  return client;
}

/** One exchange on a connection of its own; rejects when the connection breaks off within the framing of HTTP. */
function exchange(url: URL, method: string, body: string, headers: Record<string, string>): Promise<Received> {
  return new Promise((resolve, reject) => {
    const asked: ClientRequest = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString();
        const isJson = /json/.test(response.headers['content-type'] ?? '') && !response.headers['content-encoding'];
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, headers: received, text, body: bytes, json: isJson ? parsed(text) : undefined });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_PAGES = 1_000;

/** The exact texts of all rows of a list, found by following links.next to its end. */
export async function walk(client: ProviderClient, first: string): Promise<string[]> {
  const rows: string[] = [];
  let next: string | null = first;
  for (let pages = 0; next !== null; pages++) {
    assert.ok(pages < MAX_PAGES, 'The walk does not end.');
    const page: Received = await client.get(next);
    assert.equal(page.status, 200, page.text);
    rows.push(...rowTexts(page.text));
    next = page.json.links.next;
  }
  return rows;
}

/** The texts of the top-level rows of a page, cut out by counting brackets outside of strings. */
export function rowTexts(page: string): string[] {
  const rows: string[] = [];
  let [depth, start, quoted] = [0, 0, false];
  for (let at = page.indexOf('[') + 1; at < page.length; at++) {
    const character = page[at];
    if (character === '\\') at++;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{' && depth++ === 0) start = at;
    else if (!quoted && character === '}' && --depth === 0) rows.push(page.slice(start, at + 1));
    else if (!quoted && character === ']' && depth === 0) return rows;
  }
  return rows;
}
