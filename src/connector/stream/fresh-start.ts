import type { ResponseTime } from './response-time.ts';
import { healedOnceMore, NO_PROOF } from './retention-gap.ts';
import type { Stream, StreamPosition } from './stream.ts';

/** What of a committed offset says how our place in the stream was proven to be served. */
type ServedOffset = Pick<StreamPosition, 'standingMs' | 'standingLeastMs' | 'gapSuspectedFromMs' | 'held'>;

/** The offset and its stream after a fresh start that turned out to be our offset: it is served, and there is no gap. */
export function confirmOffset<Offset extends ServedOffset>(
  stream: Stream,
  offset: Offset,
  nowMs: number,
): { readonly stream: Stream; readonly offset: Offset } {
  return {
    stream: { ...stream, servedMs: nowMs, servedLatestMs: nowMs, heldFromMs: null },
    offset: { ...offset, standingMs: 0, standingLeastMs: 0, gapSuspectedFromMs: null, held: null },
  };
}

/**
 * The offset and its stream once a proven gap gives our offset up; the caller puts the fresh start in its place. That is
 * as old as the answer that brought it.
 *
 * @throws ConnectorError RETENTION_GAPS_REPEAT when that happens too often within a day.
 */
export function giveOffsetUp<Offset extends ServedOffset & { readonly gapsHealedAtMs: readonly number[] }>(
  stream: Stream,
  offset: Offset,
  { time, nowMs }: { readonly time: ResponseTime; readonly nowMs: number },
): { readonly stream: Stream; readonly offset: Offset } {
  const { startMs } = stream.proof;
  const ageMs = Math.round(nowMs - startMs);
  return {
    stream: {
      ...stream,
      proof: NO_PROOF,
      noResetMs: null,
      discarded: 0,
      earlier: [],
      caughtUp: false,
      dueMs: nowMs,
      takenMs: nowMs,
      servedMs: startMs,
      servedLatestMs: startMs,
      heldFromMs: null,
    },
    offset: {
      ...offset,
      serverDate: time,
      standingMs: ageMs,
      standingLeastMs: ageMs,
      gapSuspectedFromMs: null,
      held: null,
      gapsHealedAtMs: healedOnceMore(offset.gapsHealedAtMs, time.dateMs),
    },
  };
}
