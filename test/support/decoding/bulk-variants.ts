// Bulk responses as a provider may send them, for measuring what it costs to read them.
import { parseLossless, stringifyLossless } from '../../../src/dev/simulator/ledger/lossless-json.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { seededRandom } from '../../simulation/random.ts';
import { type Entries, mapTree, shuffled } from './page-variants.ts';

export interface BulkBody {
  readonly isins: readonly string[];
  readonly body: Buffer;
}

/** Overviews as the simulated provider sends them: some decimals have 18 digits, some instants are finer than a field. */
export async function usualBulkBody(items: number): Promise<BulkBody> {
  const simulator = await createSimulator({ instruments: 2 * items, seed: 5, port: 0, auth: false });
  try {
    const list = await fetch(`${simulator.referenceDataUrl}/v1/instruments?limit=${2 * items}`);
    const found = [...(await list.text()).matchAll(/"type":"isin","value":"([A-Z0-9]{12})"/gi)];
    const isins = [...new Set(found.map(([, isin = '']) => isin))].slice(0, items);
    const asked = isins.map((isin) => ({ $type: 'ProductPriceOverviewRequest', isin, fields: [] }));
    const response = await fetch(`${simulator.marketDataUrl}/v1/products/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: asked }),
    });
    return { isins, body: Buffer.from(await response.arrayBuffer()) };
  } finally {
    await simulator.close();
  }
}

const PRICE_FIELD = /^(last|daily|ytd|bid|ask|observed|isQuoting)/;

/** Odd but legal forms of a bulk response, by what is odd. */
export function oddBulkBodies({ isins, body }: BulkBody): ReadonlyMap<string, BulkBody> {
  const text = body.toString();
  const random = seededRandom(1);
  const parsed = parseLossless(text);
  const mapped = (vary: (entries: Entries) => Entries) => stringifyLossless(mapTree(parsed, vary));
  const without = (left: RegExp) => mapped((entries) => entries.filter(([name]) => !left.test(name)));
  const renamed = (rename: (name: string) => string) =>
    mapped((entries) => entries.map(([name, value]) => [PRICE_FIELD.test(name) ? rename(name) : name, value]));
  const instants = (instant: string) => text.replaceAll(/"\d{4}-[^"]*T[^"]*"/g, `"${instant}"`);
  const numbers = (number: string) => text.replaceAll(/":-?\d[^,}]*/g, `":${number}`);
  const variants: readonly (readonly [string, string])[] = [
    ['flat: no object within a response', without(/^lastPrice$/)],
    ['few fields', without(/^(lastPrice$|lastDay|lastAccrued|daily|ytd)/)],
    ['no fields', without(PRICE_FIELD)],
    [
      'all fields null',
      mapped((entries) => entries.map(([name, value]) => [name, PRICE_FIELD.test(name) ? null : value])),
    ],
    ['capitalised keys', renamed((name) => name.charAt(0).toUpperCase() + name.slice(1))],
    ['keys in another order in each object', mapped((entries) => shuffled(entries, random))],
    ['an unknown field in each object', mapped((entries) => [...entries, ['future', 'x']])],
    ['an unknown object in each object', mapped((entries) => [...entries, ['future', { a: [1, { b: 'c' }] }]])],
    ['instants in UTC of whole seconds', instants('2026-11-22T16:34:07Z')],
    ['instants with an offset', instants('2026-11-22T16:34:07.123+01:00')],
    ['instants finer than a microsecond', instants('2026-11-22T16:34:07.1234567Z')],
    ['instants of nine digits with an offset', instants('2026-11-22T16:34:07.123456789+01:00')],
    ['numbers with 18 fraction digits', numbers('1.123456789012345678')],
    ['numbers with 25 fraction digits', numbers('1.1234567890123456789012345')],
    ['numbers with an exponent', numbers('1.25E2')],
    ['pretty-printed', JSON.stringify(parsed, null, 2)],
  ];
  return new Map(variants.map(([what, one]) => [what, { isins, body: Buffer.from(one) }]));
}
