import { type ResponseTime, timeBetween } from '../stream/response-time.ts';
import type { CoreState } from './core-state.ts';

/**
 * How long ago the newest walk began, as of a response. Within the life of the task that began it by the monotonic clock,
 * but for a machine that slept: then both of the others agree that it is longer. Across a restart as much as either of the
 * two committed clocks says: the one that was wrong when the walk began must not put off the next walk.
 */
export function walkAgeMs(
  { offset, begunMs, isBegunHere }: Pick<CoreState, 'offset' | 'begunMs' | 'isBegunHere'>,
  time: ResponseTime,
  nowMs: number,
): number {
  // Neither clock is compared with the other, so it does not matter here where the dates came from.
  const begun: ResponseTime = { dateMs: offset.walkStartedAtMs, from: time.from, ownMs: offset.walkStartedOwnMs };
  const { leastMs, mostMs } = timeBetween(begun, time);
  return Math.max(nowMs - begunMs, isBegunHere ? leastMs : mostMs);
}

/**
 * Seconds until the next walk begins by itself; negative: it is overdue. Null while one is under way. It does not rely on
 * a clock alone either. `wallMs`: our own clock, for the time before the first response.
 */
export function secondsToNextWalk(
  state: Pick<CoreState, 'offset' | 'begunMs' | 'isBegunHere' | 'stream'>,
  walkIntervalMs: number,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): number | null {
  const { offset, stream } = state;
  if (offset.walkPending) return null;
  const sinceAnswerMs = stream.takenMs === null ? wallMs - offset.serverDate.ownMs : nowMs - stream.takenMs;
  const ageMs = walkAgeMs(state, offset.serverDate, nowMs - sinceAnswerMs) + Math.max(0, sinceAnswerMs);
  return (walkIntervalMs - ageMs) / 1_000;
}
