import { dayOf, instantOf, type PriceQuery, type SeriesWindows } from '../../config/price-kinds/all.ts';

export type BackfilledKind = Exclude<PriceQuery['kind'], 'overview'>;

/** Ends the command with a usage error. */
export type Refuse = (text: string) => never;

export interface WindowRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The header of a backfill's records with the request, in the form of the command's arguments. */
export const BACKFILL_REQUEST = 'spc-backfill';
/** The header of a backfill's records with the group id. This id identifies products, series and range of the request. */
export const BACKFILL_GROUP = 'spc-backfill-group';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The most windows of one item of a response. The decoder accepts twice as many. */
const MOST_WINDOWS_OF_ITEM = 5_000;
const MOST_WINDOWS_OF_PAGE = 20_000;
const MOST_ITEMS = 1_000;

/**
 * Refuses a range that reaches into the look-back of the price processor. Compaction keeps the last written record, so
 * a backfill could replace a newer state of a window with an older state. One hour of margin covers late responses and
 * clock differences. If the price processor does not follow the kind, refuses only windows that are still open.
 */
export function checkRange(
  { toMs }: WindowRange,
  windows: SeriesWindows,
  { wallMs, isFollowed }: { readonly wallMs: number; readonly isFollowed: boolean },
  refuse: Refuse,
): void {
  const limitMs = isFollowed
    ? windows.range(wallMs - HOUR_MS, wallMs).fromMs
    : Math.floor(wallMs / windows.lengthMs) * windows.lengthMs;
  const why = isFollowed ? 'the windows of the price processor' : 'the windows that are still open';
  const from = isFollowed ? ' (now, minus prices.kinds.*.lookBack and one hour)' : '';
  // The --to of daily prices is a day, which the range includes.
  const latest = windows.lengthMs === DAY_MS ? dayOf(limitMs - DAY_MS) : instantOf(limitMs);
  if (toMs > limitMs) {
    refuse(
      `found windows up to ${new Date(toMs).toISOString()}; expected a --to that excludes ${why}: ` +
        `windows that open at ${new Date(limitMs).toISOString()}${from} or later. The latest --to is ${latest}.`,
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

/** Divides the range into `slices`, one for each request, and decides how many instruments are on a page. */
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

/** True if the window of a key, `<id>/…/<window>`, opens within the range. */
export function opensWithin(key: string, { fromMs, toMs }: WindowRange): boolean {
  const opensMs = Date.parse(key.slice(key.lastIndexOf('/') + 1));
  return opensMs >= fromMs && opensMs < toMs;
}
