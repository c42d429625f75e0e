import { createServer, request as send } from 'node:http';
import type { TestContext } from 'node:test';
import { portOf } from './loopback-port.ts';

/** One bulk request: the kind of prices and the products that it asks for. */
type BulkAsked = ReturnType<typeof bulkOf>;

/** What becomes of it: it goes on to the provider, gets a status, no answer at all, or a reset before any header. */
export type BulkFate = 'pass' | 'hang' | 'reset' | number | { readonly status: number; readonly retryAfter: string };

const BULK = '/v1/products/bulk';

/** Stands in front of a provider's market data, and decides about each bulk request by what it asks for. */
export async function startMarketProxy(
  t: TestContext,
  targetUrl: string,
  decide: (asked: BulkAsked) => BulkFate,
): Promise<{ readonly url: string; readonly asked: readonly BulkAsked[] }> {
  const target = new URL(targetUrl);
  const asked: BulkAsked[] = [];
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const path = `${target.pathname.replace(/\/$/, '')}${request.url}`;
      const bulk = request.url === BULK ? bulkOf(body) : null;
      if (bulk !== null) asked.push(bulk);
      const fate = bulk === null ? 'pass' : decide(bulk);
      if (fate === 'hang') return;
      if (fate === 'reset') {
        request.socket.resetAndDestroy();
        return;
      }
      if (fate !== 'pass') {
        const [status, more] =
          typeof fate === 'number' ? [fate, {}] : [fate.status, { 'retry-after': fate.retryAfter }];
        response.writeHead(status, { 'content-type': 'application/problem+json', ...more }).end('{}');
        return;
      }
      const { method, headers } = request;
      const onward = send(new URL(path, target), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      onward.end(body);
    } catch {
      response.destroy();
    }
  });
  return { url: `http://127.0.0.1:${await portOf(t, server)}`, asked };
}

function bulkOf(body: Buffer) {
  const { items } = JSON.parse(body.toString('utf8')) as { items: { $type: string; isin: string }[] };
  return { isDaily: items[0]?.$type.includes('Daily') ?? false, isins: items.map(({ isin }) => isin) };
}
