import type { PriceQuery, SeriesWindows } from '../../config/price-kinds/all.ts';

export type BackfilledKind = Exclude<PriceQuery['kind'], 'overview'>;

/** Ends the command: its arguments are wrong. */
export type Refuse = (text: string) => never;

export interface WindowRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The header of a dead letter that says what was asked for, as the command takes it. */
export const BACKFILL_REQUEST = 'spc-backfill';
/** The header of a dead letter that names the group of its request, for products and series alike. */
export const BACKFILL_GROUP = 'spc-backfill-group';

const HOUR_MS = 3_600_000;
/** Of one item of a response; the decoder takes twice as many. */
const MOST_WINDOWS_OF_ITEM = 5_000;
/** Of one transaction, about. */
const MOST_WINDOWS_OF_PAGE = 20_000;
/** Instruments of one request. */
const MOST_ITEMS = 1_000;

/**
 * Checks the windows that a backfill may write. Those in the look-back of the price processor are left to it: compaction
 * keeps the record that was written last, and a backfill could put an older state of a window over a newer one. The hour
 * between is for answers that are under way, and for clocks that differ.
 *
 * Refuses a range that reaches into the look-back.
 */
export function checkRange({ toMs }: WindowRange, windows: SeriesWindows, wallMs: number, refuse: Refuse): void {
  const { fromMs: limitMs } = windows.range(wallMs - HOUR_MS, wallMs);
  if (toMs > limitMs) {
    refuse(
      `found windows up to ${new Date(toMs).toISOString()}; expected a --to that leaves out what the price processor follows: ` +
        `windows that open at ${new Date(limitMs).toISOString()} or later (prices.kinds.*.lookBack, and an hour).`,
    );
  }
}

export function checkedRate(rate: number | null, requestsPerSecond: number, refuse: Refuse): number {
  if (rate === null) return requestsPerSecond / 2;
  if (rate > 0 && rate <= requestsPerSecond) return rate;
  return refuse(
    `found a --rate of ${rate}; expected more than 0 and at most marketData.requestsPerSecond, ${requestsPerSecond}.`,
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

/** True when the window of a key, `<id>/…/<window>`, opens within a range; others belong to another part. */
export function opensWithin(key: string, { fromMs, toMs }: WindowRange): boolean {
  const opensMs = Date.parse(key.slice(key.lastIndexOf('/') + 1));
  return opensMs >= fromMs && opensMs < toMs;
}
