import type { PriceQuery } from '../../config/price-kinds/all.ts';
import { ConnectorError } from '../../errors.ts';

/** The prices that can be read back in time. */
export type BackfilledKind = Exclude<PriceQuery['kind'], 'overview'>;

/** The windows that are asked for: those that open from one moment on and before another. */
export interface WindowRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The header of a dead letter that says what was asked for, as the command takes it. */
export const BACKFILL_REQUEST = 'spc-backfill';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Of one item of a response; the decoder takes twice as many. */
const MOST_WINDOWS_OF_ITEM = 5_000;
/** Of one transaction, about. */
const MOST_WINDOWS_OF_PAGE = 20_000;
/** Instruments of one request. */
const MOST_ITEMS = 1_000;

/**
 * Which windows a backfill may write. What the price processor asks for, from its look-back on, is left to it: compaction
 * keeps the record that was written last, and a backfill could put an older state of a window over a newer one. The hour
 * between is for answers that are under way, and for clocks that differ.
 *
 * @param oldestWindowMs when the first window opens that the processor asks for at a moment.
 * @throws ConnectorError SETTINGS_INVALID when the range is empty or reaches into the look-back.
 */
export function checkedRange(
  { fromMs, toMs }: WindowRange,
  oldestWindowMs: (wallMs: number) => number,
  wallMs: number,
): WindowRange {
  if (fromMs >= toMs) {
    throw new ConnectorError('SETTINGS_INVALID', 'Found a --from that is not before --to; expected an earlier one.');
  }
  const limitMs = oldestWindowMs(wallMs - HOUR_MS);
  if (toMs > limitMs) {
    throw new ConnectorError(
      'SETTINGS_INVALID',
      `Found windows up to ${new Date(toMs).toISOString()}; expected a --to that leaves out what the price processor follows: ` +
        `windows that open at ${new Date(limitMs).toISOString()} or later (prices.kinds.*.lookBack, and an hour).`,
    );
  }
  return { fromMs, toMs };
}

/** @throws ConnectorError SETTINGS_INVALID for a rate beyond the limit of the settings. */
export function checkedRate(rate: number | null, requestsPerSecond: number): number {
  if (rate === null) return requestsPerSecond / 2;
  if (rate > 0 && rate <= requestsPerSecond) return rate;
  throw new ConnectorError(
    'SETTINGS_INVALID',
    `Found a --rate of ${rate}; expected more than 0 and at most marketData.requestsPerSecond, ${requestsPerSecond}.`,
  );
}

/** In which parts the range of an instrument is asked for, and how many instruments are one page. */
export function pagePlan(
  { fromMs, toMs }: WindowRange,
  windowMs: number,
  maxItems: number,
): { readonly slices: readonly WindowRange[]; readonly instruments: number } {
  const windows = Math.ceil((toMs - fromMs) / windowMs);
  const sliceMs = Math.min(windows, MOST_WINDOWS_OF_ITEM) * windowMs;
  const slices: WindowRange[] = [];
  for (let at = fromMs; at < toMs; at += sliceMs) slices.push({ fromMs: at, toMs: Math.min(toMs, at + sliceMs) });
  const fitting = Math.floor(MOST_WINDOWS_OF_PAGE / windows);
  return { slices, instruments: Math.max(1, Math.min(fitting, maxItems, MOST_ITEMS)) };
}

/** The request as the command takes it: `daily --from 2026-01-01 --to 2026-03-31`. */
export function requestText(kind: BackfilledKind, { fromMs, toMs }: WindowRange): string {
  const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const instantText = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
  const [from, to] = kind === 'daily' ? [fromMs, toMs - DAY_MS].map(dayText) : [fromMs, toMs].map(instantText);
  return `${kind} --from ${from} --to ${to}`;
}

/** Whether the window of a key, `<id>/…/<window>`, opens within a range: what else is sent belongs to another part. */
export function opensWithin(key: string, { fromMs, toMs }: WindowRange): boolean {
  const opensMs = Date.parse(key.slice(key.lastIndexOf('/') + 1));
  return opensMs >= fromMs && opensMs < toMs;
}
