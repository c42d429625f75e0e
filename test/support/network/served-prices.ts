import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { ReadableRecord, ReadableValue } from '../../../src/records/avro/record-reader.ts';

type Served = { readonly [name: string]: string | boolean | null | Served };

/** Numbers stay the text that they were. */
function parseServed(text: string): Served {
  const keepText = (_name: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' ? source : value;
  return JSON.parse(text, keepText as never) as Served;
}

/**
 * Where a price on the topic differs from all that the provider served for its isin, digit by digit; null when it is
 * one of them. Independent of the connector's own decoding: texts are compared with texts.
 */
export function unservedPrice(simulator: Simulator, price: ReadableRecord): string | null {
  return unserved(price, servedOf(simulator, String(price.isin)));
}

/** The same for many prices, each response read once; others may run in between. */
export async function unservedPrices(simulator: Simulator, prices: readonly ReadableRecord[]): Promise<string[]> {
  const found: string[] = [];
  for (const [isin, own] of Map.groupBy(prices, (price) => String(price.isin))) {
    const served = servedOf(simulator, isin);
    found.push(...own.flatMap((price) => unserved(price, served) ?? []));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

function servedOf(simulator: Simulator, isin: string): Served[] {
  return (simulator.ledger.pricesOf(isin)?.last ?? []).map(({ text }) => parseServed(text));
}

function unserved(price: ReadableRecord, served: readonly Served[]): string | null {
  const differences = served.map((one) => differenceOf(one, price, '', price.extras));
  if (differences.includes(null)) return null;
  return `a price of ${price.isin} is none of the ${served.length} that were served: ${differences.at(-1)}`;
}

function differenceOf(
  served: Served,
  record: ReadableRecord,
  pointer: string,
  extras: ReadableValue | undefined,
): string | null {
  for (const [name, value] of Object.entries(served)) {
    if (name === '$type') continue;
    const found = record[name] ?? null;
    const at = `${pointer}/${name}`;
    if (value !== null && typeof value === 'object') {
      const inner = found === null ? `${at} is missing` : differenceOf(value, found as ReadableRecord, at, extras);
      if (inner !== null) return inner;
    } else if (!isSame(value, found, verbatim(extras, at))) return `${at} is ${found}, served was ${value}`;
  }
  return null;
}

function verbatim(extras: ReadableValue | undefined, pointer: string): string | null {
  const found = (extras as ReadableRecord | null)?.[pointer];
  return typeof found === 'string' ? found.replace(/^"|"$/g, '') : null;
}

function isSame(served: string | boolean | null, found: ReadableValue, kept: string | null): boolean {
  if (served === null || typeof served === 'boolean') return served === found;
  // What its field could not hold is kept as it was sent.
  if (kept !== null) return kept === served;
  if (/^[0-9]{4}-/.test(served)) return Date.parse(served) === Date.parse(String(found));
  return plain(served) === plain(String(found));
}

/** Without what makes no difference to a number. */
function plain(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}
