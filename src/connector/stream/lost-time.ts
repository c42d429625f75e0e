import { type ResponseTime, timeBetween } from './response-time.ts';
import { RETENTION_MS } from './retention-gap.ts';

/** A time whose events can no longer be had, in milliseconds since the epoch. */
export interface LostTime {
  readonly fromMs: number;
  readonly toMs: number;
  /** How long the stream had not been read. */
  readonly silentMs: number;
}

/**
 * What no provider can serve any more; null for nothing. Silence is counted as little as either clock says: a wrong date
 * alone makes nothing certain. Whether the provider serves the rest, and with what it answers an offset that has expired,
 * changes nothing of this part. `takenMs`: when a response was last taken, by the monotonic clock; null for not yet.
 */
export function lostTime(
  takenMs: number | null,
  serverDate: ResponseTime,
  time: ResponseTime,
  nowMs: number,
): LostTime | null {
  const { leastMs } = timeBetween(serverDate, time);
  const silentMs = Math.round(takenMs === null ? leastMs : Math.max(nowMs - takenMs, leastMs));
  if (silentMs <= RETENTION_MS) return null;
  return { fromMs: time.dateMs - silentMs, toMs: time.dateMs - RETENTION_MS, silentMs };
}
