/** When an answer was given. Milliseconds since the epoch. */
export interface ResponseTime {
  /** By the provider's clock where it sent a date, else by ours, and so marked. */
  readonly dateMs: number;
  readonly from: 'provider' | 'connector';
  /** By our own clock, whatever the provider says: neither clock alone can hide how much time has passed. */
  readonly ownMs: number;
}

/** `date`: the provider's; null where it sent none. `ownMs`: our own clock. */
export function responseTime(date: number | null, ownMs: number): ResponseTime {
  return date === null ? { dateMs: ownMs, from: 'connector', ownMs } : { dateMs: date, from: 'provider', ownMs };
}

/** How much time lies between two answers, at least and at most: each clock may be wrong, and is never asked about the other's. */
export function timeBetween(a: ResponseTime, b: ResponseTime): { readonly leastMs: number; readonly mostMs: number } {
  const byUs = b.ownMs - a.ownMs;
  const byProvider = a.from === 'provider' && b.from === 'provider' ? b.dateMs - a.dateMs : byUs;
  return { leastMs: Math.max(0, Math.min(byUs, byProvider)), mostMs: Math.max(0, byUs, byProvider) };
}

/**
 * How long ago an offset was known to be one that is served. Across a restart as much as either clock says, and as
 * little; within the life of a task by the monotonic clock, but for a machine that slept: then both of the others agree
 * that it is longer. Whole milliseconds, since it becomes part of dates.
 */
export function offsetAges(
  known: { readonly servedMs: number | null; readonly servedLatestMs: number | null },
  committed: { readonly serverDate: ResponseTime; readonly standingMs: number; readonly standingLeastMs: number },
  time: ResponseTime,
  nowMs: number,
): { readonly ageMs: number; readonly leastAgeMs: number } {
  const { servedMs, servedLatestMs } = known;
  const { standingMs, standingLeastMs } = committed;
  const { leastMs, mostMs } = timeBetween(committed.serverDate, time);
  const age = servedMs === null ? standingMs + mostMs : Math.max(nowMs - servedMs, standingMs + leastMs);
  const byAllMs = standingLeastMs + leastMs;
  const least = servedLatestMs === null ? byAllMs : Math.max(nowMs - servedLatestMs, byAllMs);
  return { ageMs: Math.round(age), leastAgeMs: Math.round(least) };
}
