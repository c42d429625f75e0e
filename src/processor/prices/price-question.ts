import type { AskedPrices } from '../../decoding/priced.ts';
import type { PriceQuery } from '../../provider/price-query.ts';

/** What is asked for of each instrument, as the settings say it. */
export type AskedSettings =
  | { readonly kind: 'overview'; readonly fields: readonly string[] }
  | { readonly kind: 'daily'; readonly fields: string; readonly lookBackMs: number }
  | { readonly kind: 'intraday'; readonly fields: string; readonly interval: string; readonly lookBackMs: number };

const INTERVAL_MS: Readonly<Record<string, number>> = { Minute_5: 300_000, Hour_1: 3_600_000 };
const DAY_MS = 86_400_000;

/** The question at a moment: windows begin `lookBackMs` before it, the first one asked for whole. */
export function questionAt(asked: AskedSettings, wallMs: number): PriceQuery {
  if (asked.kind === 'overview') return asked;
  const { fields } = asked;
  const from = new Date(oldestWindowMs(asked, wallMs)).toISOString();
  if (asked.kind === 'daily') {
    const dateFrom = from.slice(0, 10);
    return { kind: 'daily', dateFrom, dateTo: null, fields, orderByAscending: true, count: null };
  }
  const dateFrom = from.replace('.000Z', 'Z');
  return { kind: 'intraday', interval: asked.interval, dateFrom, dateTo: null, fields };
}

/** When the first window opens that is asked for at a moment. */
export function oldestWindowMs(asked: Exclude<AskedSettings, { readonly kind: 'overview' }>, wallMs: number): number {
  const lengthMs = asked.kind === 'daily' ? DAY_MS : (INTERVAL_MS[asked.interval] ?? DAY_MS);
  return Math.floor((wallMs - asked.lookBackMs) / lengthMs) * lengthMs;
}

/** What the records say of the question. */
export function askedPrices(asked: AskedSettings): AskedPrices {
  if (asked.kind === 'overview') return { kind: 'overview' };
  if (asked.kind === 'daily') return { kind: 'daily', fields: asked.fields };
  return { kind: 'intraday', fields: asked.fields, interval: asked.interval };
}
