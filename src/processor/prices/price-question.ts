import type { AskedPrices } from '../../avro/price-decoder.ts';
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
  const fromMs = wallMs - asked.lookBackMs;
  if (asked.kind === 'daily') {
    const dateFrom = new Date(Math.floor(fromMs / DAY_MS) * DAY_MS).toISOString().slice(0, 10);
    return { kind: 'daily', dateFrom, dateTo: null, fields, orderByAscending: true, count: null };
  }
  const lengthMs = INTERVAL_MS[asked.interval] ?? DAY_MS;
  const dateFrom = new Date(Math.floor(fromMs / lengthMs) * lengthMs).toISOString().replace('.000Z', 'Z');
  return { kind: 'intraday', interval: asked.interval, dateFrom, dateTo: null, fields };
}

/** What the records say of the question. */
export function askedPrices(asked: AskedSettings): AskedPrices {
  if (asked.kind === 'overview') return { kind: 'overview' };
  if (asked.kind === 'daily') return { kind: 'daily', fields: asked.fields };
  return { kind: 'intraday', fields: asked.fields, interval: asked.interval };
}
