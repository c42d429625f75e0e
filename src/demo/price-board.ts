import { createRecordReader, type ReadableRecord } from '../avro/record-reader.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import { readWireValue } from '../avro/wire-format.ts';
import type { BatchPriced, Freshness, ProcessorEvents } from '../observability/processor-events.ts';
import type { Clock } from '../support/clock.ts';

const SHOWN_PRODUCTS = 8;
/** So many are known, so that others take the rows of products that are repaid or leave the list. */
const KNOWN_PRODUCTS = 40;
/** A product that got no price for so many refresh intervals has none any more. */
const MISSED_REFRESHES = 3;
/** The rates are those of about the last so many milliseconds. */
const RATE_WINDOW_MS = 10_000;
const LONGEST_NAME = 32;
const SHORTEST_NAME = 8;
const BETWEEN = '  ';
const SEPARATOR = ' · ';

/** What the demo shows of the prices, fed by the processor's events. */
export interface PriceBoard {
  readonly events: Pick<ProcessorEvents, 'processorStarted' | 'batchPriced'>;
  /** Null until the processor has begun. */
  freshness(): Freshness | null;
  /** The keys of the products that the table may show: the first that had a bid and an ask. */
  knownIds(): readonly string[];
  /** A table with the newest bid and ask of some products; names by instrument id, shortened to fit a terminal. */
  table(names: ReadonlyMap<string, string>, columns?: number): readonly string[];
  /** How fresh the prices are, at which rate, and what fails. */
  freshnessLine(): string;
}

export function createPriceBoard(clock: Clock, refreshIntervalMs: number): PriceBoard {
  const products = new Map<string, Product>();
  const priced = createPricedTime(clock, refreshIntervalMs);
  const rate = createRate(clock);
  let freshness: (() => Freshness) | null = null;

  function committed(event: BatchPriced): void {
    rate.add(event.items, event.calls);
    priced.goOn();
    if (event.kind !== 'overview') return;
    for (const { instrumentId, isin, values } of event.prices) {
      if (!products.has(instrumentId) && products.size >= KNOWN_PRODUCTS) continue;
      const [value] = values;
      const product = value && productOf(isin, decode(value), priced.ms());
      if (product) products.set(instrumentId, product);
    }
  }

  return {
    events: {
      batchPriced: committed,
      processorStarted(event) {
        freshness = event.freshness;
      },
    },
    freshness: () => freshness?.() ?? null,
    knownIds: () => [...products.keys()],
    table(names, columns = Number.POSITIVE_INFINITY) {
      const oldestMs = priced.ms() - MISSED_REFRESHES * refreshIntervalMs;
      const shown = [...products].filter(([, { pricedMs }]) => pricedMs >= oldestMs).slice(0, SHOWN_PRODUCTS);
      const quotes = shown.map(([, product]) => product);
      const bids = atTheirPoint(quotes.map(({ bid }) => bid));
      const asks = atTheirPoint(quotes.map(({ ask }) => ask));
      const rows = shown.map(([id, { isin, observedAt }], at) => {
        return [isin, names.get(id) ?? `instrument ${id}`, bids[at] ?? '', asks[at] ?? '', observedAt];
      });
      const table = [['isin', 'name', 'bid', 'ask', 'observed (UTC)'], ...rows];
      const others = Math.max(...aligned(table.map(([isin = '', _, ...more]) => [isin, '', ...more])).map(widthOf));
      const room = Math.max(SHORTEST_NAME, Math.min(LONGEST_NAME, columns - 1 - others));
      return aligned(table.map(([isin = '', name = '', ...more]) => [isin, shortened(name, room), ...more]));
    },
    freshnessLine() {
      const now = freshness?.();
      return now === undefined ? 'Prices: none yet' : `${freshnessText(now)} · ${rate.text()}`;
    },
  };
}

const widthOf = (line: string) => line.length;

function shortened(name: string, longest: number): string {
  return name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
}

/** A line of facts as several, where it is longer than a terminal is wide. */
export function wrapped(line: string, columns = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = [];
  for (const fact of line.split(SEPARATOR)) {
    const longer = lines.length === 0 ? fact : `${lines.at(-1)}${SEPARATOR}${fact}`;
    if (lines.length > 0 && longer.length >= columns) lines.push(`${BETWEEN}${fact}`);
    else lines.splice(-1, 1, longer);
  }
  return lines;
}

interface Product {
  readonly isin: string;
  readonly bid: string;
  readonly ask: string;
  readonly observedAt: string;
  /** When it was last priced, in the time in which prices come. */
  readonly pricedMs: number;
}

/** The time in which prices come: while all of them are paused, no product gets older. */
function createPricedTime(clock: Clock, refreshIntervalMs: number) {
  let lastMs = clock.monotonicMs();
  let sumMs = 0;
  return {
    goOn() {
      const nowMs = clock.monotonicMs();
      sumMs += Math.min(nowMs - lastMs, refreshIntervalMs);
      lastMs = nowMs;
    },
    ms: () => sumMs,
  };
}

/** Undefined for a product without a quote: there is nothing to show of it. */
function productOf(isin: string, { lastPrice }: ReadableRecord, pricedMs: number): Product | undefined {
  if (lastPrice === null || typeof lastPrice !== 'object' || Array.isArray(lastPrice)) return undefined;
  const { bid, ask, observedAtTimestamp, isQuotingPulled } = lastPrice as ReadableRecord;
  if (typeof bid !== 'string' || typeof ask !== 'string') return undefined;
  const observed = typeof observedAtTimestamp === 'string' ? observedAtTimestamp.slice(11, 19) : '';
  // Otherwise a row that does not move for minutes looks like a stalled price.
  const observedAt = isQuotingPulled === true ? `${observed}, quoting pulled` : observed;
  return { isin, bid, ask, observedAt, pricedMs };
}

function decode(value: Buffer): ReadableRecord {
  const { schemaId } = readWireValue(value);
  return createRecordReader({ schemas: new Map([[schemaId, readSchemaText('PriceSnapshot')]]) }).read(value);
}

/** Decimals one below the other, digit by digit: nothing is rounded. */
function atTheirPoint(decimals: readonly string[]): string[] {
  const fractionOf = (decimal: string) => decimal.length - (`${decimal}.`.indexOf('.') + 1);
  const longest = Math.max(0, ...decimals.map(fractionOf));
  return decimals.map((decimal) => decimal + ' '.repeat(longest - fractionOf(decimal)));
}

/** The first two columns are texts and aligned to the left, the others to the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join(BETWEEN)
      .trimEnd(),
  );
}

/** How fresh prices are, in one line. */
export function freshnessText(now: Freshness): string {
  const problems = Object.entries(now.failing).map(([problem, count]) => `${count} ${problem}`);
  const others = Object.entries({ waiting: now.waiting, repaid: now.repaid }).filter(([, count]) => count > 0);
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    `${now.priced.toLocaleString('en')} of ${now.instruments.toLocaleString('en')} priced`,
    ...(now.priced > 0
      ? [`age p50 ${seconds(now.ageP50Ms)}, p99 ${seconds(now.ageP99Ms)}, max ${seconds(now.ageMaxMs)}`]
      : []),
    ...others.map(([name, count]) => `${count.toLocaleString('en')} ${name}`),
    `${now.overdue.toLocaleString('en')} overdue`,
    `failing: ${problems.length === 0 ? 'none' : problems.join(', ')}`,
  ].join(SEPARATOR);
}

/** Items and calls per second, of the last while. */
function createRate(clock: Clock) {
  let batches: { readonly atMs: number; readonly items: number; readonly calls: number }[] = [];
  const startedMs = clock.monotonicMs();
  const recent = () => {
    const sinceMs = clock.monotonicMs() - RATE_WINDOW_MS;
    batches = batches.filter(({ atMs }) => atMs >= sinceMs);
    return batches;
  };
  return {
    add(items: number, calls: number): void {
      recent().push({ atMs: clock.monotonicMs(), items, calls });
    },
    text(): string {
      const seconds = Math.max(1, Math.min(RATE_WINDOW_MS, clock.monotonicMs() - startedMs) / 1_000);
      const sum = (of: 'items' | 'calls') => recent().reduce((total, batch) => total + batch[of], 0) / seconds;
      return `${Math.round(sum('items')).toLocaleString('en')} items/s in ${sum('calls').toFixed(1)} calls/s`;
    },
  };
}
