import type { BatchPriced, Events, Freshness } from '../../observe/events.ts';
import { createRecordReader, type ReadableRecord } from '../../records/avro/record-reader.ts';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import { readWireValue } from '../../records/avro/wire-format.ts';
import type { Clock } from '../../support/clock.ts';
import type { ProgressLine } from '../local-stack/progress-line.ts';
import { displayWidth, shortened } from './display-width.ts';

const LIMIT_MS = 60_000;
const CHECK_MS = 250;
const SHOWN_PRODUCTS = 8;

/** The most products that the board remembers. If a product in the table is repaid, another known product replaces it. */
const KNOWN_PRODUCTS = 40;

/** A product without a new price for this many refresh intervals counts as a product without a price. */
const MISSED = 3;

const RATE_WINDOW_MS = 10_000;
const LONGEST_NAME = 32;
const SHORTEST_NAME = 8;
/** The columns isin, name and bid are always shown, also on a narrow terminal. */
const MOST_NEEDED = 3;
const BETWEEN = '  ';
const SEPARATOR = ' · ';

export interface PriceBoard {
  readonly events: Pick<Events, 'processorStarted' | 'bulkAnswered' | 'batchPriced'>;
  freshness(): Freshness | null;
  /** The instrument ids of the products that the table may show: the first products with a bid and an ask. */
  knownIds(): readonly string[];
  /** The newest bid and ask of some products; `names`: by instrument id. Cuts names and omits columns if necessary. */
  table(names: ReadonlyMap<string, string>, columns: number): readonly string[];
  freshnessLine(): string;
}

export function createPriceBoard(clock: Clock, refreshIntervalMs: number): PriceBoard {
  const products = new Map<string, Product>();
  const rate = createRate(clock);
  let freshness: () => Freshness | null = () => null;

  function committed(event: BatchPriced): void {
    if (event.kind !== 'overview') return;
    for (const { instrumentId, isin, values } of event.prices) {
      if (!products.has(instrumentId) && products.size >= KNOWN_PRODUCTS) continue;
      const [value] = values;
      const product = value && productOf(isin, decode(value), clock.monotonicMs(), products.get(instrumentId));
      if (product) products.set(instrumentId, product);
    }
  }

  return {
    events: {
      batchPriced: committed,
      bulkAnswered: ({ items }) => rate.add(items),
      processorStarted(event) {
        freshness = event.freshness;
      },
    },
    freshness: () => freshness(),
    knownIds: () => [...products.keys()],
    table(names, columns) {
      const all = [...products];
      const fresh = all.filter(([, { pricedMs }]) => pricedMs >= clock.monotonicMs() - MISSED * refreshIntervalMs);
      // If all prices are paused, no product is fresh: the table then shows the last prices.
      const shown = (fresh.length > 0 ? fresh : all).slice(0, SHOWN_PRODUCTS);
      const bids = atTheirPoint(shown.map(([, { bid }]) => bid));
      const asks = atTheirPoint(shown.map(([, { ask }]) => ask));
      const rows = shown.map(([id, { isin, observedAt, quoting }], at) => {
        return [isin, names.get(id) ?? `instrument ${id}`, bids[at] ?? '', asks[at] ?? '', observedAt, quoting];
      });
      let table = [['isin', 'name', 'bid', 'ask', 'observed (UTC)', 'quoting'], ...rows];
      // Only names are cut, never numbers.
      const roomForNames = () => {
        const others = aligned(table.map(([isin = '', _, ...more]) => [isin, '', ...more]));
        return columns - 1 - Math.max(...others.map(displayWidth));
      };
      while (roomForNames() < SHORTEST_NAME && (table[0]?.length ?? 0) > MOST_NEEDED) {
        table = table.map((row) => row.slice(0, -1));
      }
      const room = Math.max(SHORTEST_NAME, Math.min(LONGEST_NAME, roomForNames()));
      return aligned(table.map(([isin = '', name = '', ...more]) => [isin, shortened(name, room), ...more]));
    },
    freshnessLine() {
      const now = freshness();
      if (now !== null) return `${freshnessText(now)} · ${rate.text()}`;
      return products.size === 0 ? 'Prices: none yet' : 'Prices: not known now';
    },
  };
}

interface Product {
  readonly isin: string;
  readonly bid: string;
  readonly ask: string;
  readonly observedAt: string;
  /** `pulled` if the issuer gives no bid and ask now, else empty. `pulled` explains why a shown price is unchanged. */
  readonly quoting: string;
  /** The monotonic time of the last price. */
  readonly pricedMs: number;
}

/** Undefined for a product that never had a quote. While quotes are pulled, the last bid and ask are shown. */
function productOf(
  isin: string,
  { lastPrice }: ReadableRecord,
  pricedMs: number,
  known: Product | undefined,
): Product | undefined {
  if (lastPrice === null || typeof lastPrice !== 'object' || Array.isArray(lastPrice)) return undefined;
  const { bid, ask, observedAtTimestamp, isQuotingPulled } = lastPrice as ReadableRecord;
  const isPulled = isQuotingPulled === true;
  if (typeof bid !== 'string' || typeof ask !== 'string') {
    return known && isPulled ? { ...known, pricedMs, quoting: 'pulled' } : undefined;
  }
  const observedAt = typeof observedAtTimestamp === 'string' ? observedAtTimestamp.slice(11, 19) : '';
  return { isin, bid, ask, observedAt, quoting: isPulled ? 'pulled' : '', pricedMs };
}

function decode(value: Buffer): ReadableRecord {
  const { schemaId } = readWireValue(value);
  return createRecordReader({ schemas: new Map([[schemaId, readSchemaText('PriceSnapshot')]]) }).read(value);
}

/** Aligns decimals at their points, digit by digit, without rounding. */
function atTheirPoint(decimals: readonly string[]): string[] {
  const fractionOf = (decimal: string) => decimal.length - (`${decimal}.`.indexOf('.') + 1);
  const longest = Math.max(0, ...decimals.map(fractionOf));
  return decimals.map((decimal) => decimal + ' '.repeat(longest - fractionOf(decimal)));
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))));
  const blanks = (cell: string, at: number) => ' '.repeat((widths[at] ?? 0) - displayWidth(cell));
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 2 ? `${cell}${blanks(cell, at)}` : `${blanks(cell, at)}${cell}`))
      .join(BETWEEN)
      .trimEnd(),
  );
}

function freshnessText(now: Freshness): string {
  const problems = Object.entries(now.failing).map(([problem, count]) => `${count} ${problem}`);
  const others = Object.entries({ 'not answered yet': now.waiting, repaid: now.repaid }).filter(
    ([, count]) => count > 0,
  );
  const seconds = (ms: number | null) => `${((ms ?? 0) / 1_000).toFixed(1)} s`;
  return [
    `${now.priced.toLocaleString('en')} of ${now.instruments.toLocaleString('en')} priced`,
    ...(now.priced > 0
      ? [`age p50 ${seconds(now.ageP50Ms)}, p99 ${seconds(now.ageP99Ms)}, max ${seconds(now.ageMaxMs)}`]
      : []),
    ...others.map(([name, count]) => `${count.toLocaleString('en')} ${name}`),
    `${now.overdue.toLocaleString('en')} overdue`,
    ...(problems.length === 0 ? [] : [`failing: ${problems.join(', ')}`]),
  ].join(SEPARATOR);
}

function createRate(clock: Clock) {
  let calls: { readonly atMs: number; readonly items: number }[] = [];
  const startedMs = clock.monotonicMs();
  const recent = () => {
    const sinceMs = clock.monotonicMs() - RATE_WINDOW_MS;
    calls = calls.filter(({ atMs }) => atMs >= sinceMs);
    return calls;
  };
  return {
    add(items: number): void {
      recent().push({ atMs: clock.monotonicMs(), items });
    },
    text(): string {
      const seconds = Math.max(1, Math.min(RATE_WINDOW_MS, clock.monotonicMs() - startedMs) / 1_000);
      const items = recent().reduce((total, call) => total + call.items, 0);
      const perSecond = Math.round(items / seconds).toLocaleString('en');
      return `${perSecond} items/s in ${(calls.length / seconds).toFixed(1)} calls/s`;
    },
  };
}

/**
 * Waits until every instrument has a price, or a reason why it has no price. Waits at most a minute, and ends when the
 * signal aborts. The processor may not have read the newest instruments yet, so this function compares the number of
 * instruments that the processor knows with the provider's number.
 * @param instruments the number of instruments at the provider
 */
export async function firstPrices(
  instruments: number,
  board: Pick<PriceBoard, 'freshness'>,
  line: Pick<ProgressLine, 'show'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + LIMIT_MS;
  while (!signal.aborted && clock.monotonicMs() < deadlineMs) {
    const now = board.freshness();
    if (now !== null) {
      line.show(`Prices: ${freshnessText(now)}`);
      const isKnown = now.lag === 0 && now.unansweredInputs === 0 && now.instruments >= instruments;
      if (isKnown && now.waiting === 0) return;
    }
    await clock.sleep(CHECK_MS, signal).catch(() => {});
  }
}
