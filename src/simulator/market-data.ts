import { type Answer, jsonAnswer, problem, problemText, type Refusals } from './answer.ts';
import type { SimulatorClock } from './clock.ts';
import { type BulkFault, type BulkResult, bulkText, isRefused } from './faults/bulk-faults.ts';
import type { Fault } from './faults/fault.ts';
import type { PriceLedger } from './ledger/price-ledger.ts';
import type { SimulatorSettings } from './options.ts';
import { readBulkItem, readPriceQuery, type SimulatedPriceKind } from './price-query.ts';
import type { InstrumentFinder } from './universe/instrument-finder.ts';
import type { PriceWriter } from './universe/prices.ts';
import { mix } from './universe/random.ts';

/** The endpoints of part 4.1 of src/provider/README.md. */
export interface SimulatedMarketData {
  prices(kind: SimulatedPriceKind, isin: string, parameters: URLSearchParams): Answer;
  bulk(contentType: string | undefined, body: string, faults: readonly Fault[]): Answer;
}

/** The path of the market data interface on the simulated host. */
export const MARKET_BASE = '/market-data';

export function createSimulatedMarketData(parts: {
  settings: SimulatorSettings;
  finder: InstrumentFinder;
  writer: PriceWriter;
  ledger: PriceLedger;
  clock: SimulatorClock;
}): SimulatedMarketData {
  const { settings, finder, writer, ledger, clock } = parts;
  const fails = (key: number) => mix(key, 91) < settings.failingPricesShare * 0x1_0000_0000;

  return {
    prices(kind, isin, parameters) {
      const query = readPriceQuery(kind, parameters);
      if ('refusals' in query) return problem(400, 'The parameters are not valid.', query.refusals);
      const key = finder.keyOf(isin);
      if (key === undefined) return problem(404, 'There is no product with this isin.');
      if (fails(key)) return problem(500, 'The price is not available.');
      return jsonAnswer(ledger.serve(isin, writer, key, query, clock.wallMs()));
    },
    bulk(contentType, body, faults) {
      if (!contentType?.startsWith('application/json')) return problem(415, 'The body must be application/json.');
      const items = readItems(body);
      if (items === undefined)
        return problem(400, 'The body is not valid.', { items: ['The items must be an array.'] });
      if (items.length > settings.maxBulkItems) {
        const refusals = { items: [`At most ${settings.maxBulkItems} items are allowed.`] };
        return problem(settings.bulkRefusalStatus, 'There are too many items.', refusals);
      }
      const read = items.map(readBulkItem);
      const refusals: Record<string, readonly string[]> = {};
      for (const [at, item] of read.entries())
        if ('refusals' in item) Object.assign(refusals, prefixed(at, item.refusals));
      if (Object.keys(refusals).length > 0) return problem(400, 'The items are not valid.', refusals);

      const valid = read.filter((item) => 'isin' in item);
      const bulkFaults = faults.filter((one): one is BulkFault => one.kind === 'bulk');
      const isins = valid.map(({ isin }) => isin);
      if (isRefused(isins, bulkFaults)) {
        return problem(400, 'The items are not valid.', { items: ['One of the items is not valid.'] });
      }
      const nowMs = clock.wallMs();
      const results = valid.map(({ isin, query }): BulkResult => {
        const key = finder.keyOf(isin);
        if (key === undefined) return failed(isin, 404, 'There is no product with this isin.');
        if (fails(key)) return failed(isin, 500, 'The price is not available.');
        return { isin, response: ledger.serve(isin, writer, key, query, nowMs), errorResponse: 'null' };
      });
      return jsonAnswer(bulkText(results, bulkFaults));
    },
  };
}

function failed(isin: string, status: number, detail: string): BulkResult {
  return { isin, response: 'null', errorResponse: problemText(status, detail) };
}

function readItems(body: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : undefined;
    return Array.isArray(items) ? items : undefined;
  } catch {
    return undefined;
  }
}

function prefixed(at: number, refusals: Refusals): Refusals {
  return Object.fromEntries(Object.entries(refusals).map(([name, reasons]) => [`items[${at}].${name}`, reasons]));
}
