/** The time of a response by two clocks. */
export interface ResponseTime {
  /** Epoch milliseconds, by the provider's clock if the response has a date, else by our clock. */
  readonly dateMs: number;
  readonly from: 'provider' | 'connector';
  /** Epoch milliseconds, by our clock. */
  readonly ownMs: number;
}

export function responseTime(date: number | null, ownMs: number): ResponseTime {
  return date === null ? { dateMs: ownMs, from: 'connector', ownMs } : { dateMs: date, from: 'provider', ownMs };
}

/** The shortest and the longest possible time between two responses. Dates of different clocks are never compared. */
export function timeBetween(a: ResponseTime, b: ResponseTime): { readonly leastMs: number; readonly mostMs: number } {
  const byUs = b.ownMs - a.ownMs;
  const byProvider = a.from === 'provider' && b.from === 'provider' ? b.dateMs - a.dateMs : byUs;
  return { leastMs: Math.max(0, Math.min(byUs, byProvider)), mostMs: Math.max(0, byUs, byProvider) };
}

/**
 * Returns the longest (`ageMs`) and the shortest (`leastAgeMs`) possible time from the last confirmation of our offset
 * to now. A response confirms our offset if it moves our offset on. A fresh start (the offset that a new source would
 * get) confirms our offset if it equals ours. Until the first response after a restart, the provider's clock and our wall
 * clock give these times. After this response, the monotonic clock gives them. But it stops while the machine sleeps. So
 * if both wall clocks show more time, the lesser of their two times is used.
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
