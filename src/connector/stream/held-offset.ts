import { type ResponseTime, timeBetween } from './response-time.ts';
import { type GapProof, isGapSuspected, NO_PROOF } from './retention-gap.ts';

/** A fresh offset of the stream that is held beside ours, which does not move. */
export interface HeldOffset {
  readonly since: string;
  /** How long it had been held when the stream last answered. */
  readonly heldMs: number;
}

/** What one more response to our offset means for the one that is held beside it. */
export interface Holding {
  /** Null when none is, or no more. */
  readonly held: HeldOffset | null;
  /** It is held from now on. */
  readonly begins: boolean;
  /** The one that replaces the committed offset; null when none does. */
  readonly replacement: HeldOffset | null;
}

/**
 * For how long it has been held, `heldFromMs` by the monotonic clock; null where none is. Across a restart as little as
 * either clock says: one that takes our place too early loses events.
 */
export function heldForMs(
  { held, serverDate }: { readonly held: HeldOffset | null; readonly serverDate: ResponseTime },
  heldFromMs: number | null,
  at: { readonly time: ResponseTime; readonly nowMs: number },
): number | null {
  if (held === null) return null;
  const ms = heldFromMs === null ? held.heldMs + timeBetween(serverDate, at.time).leastMs : at.nowMs - heldFromMs;
  return Math.round(ms);
}

/**
 * A fresh offset is held once a round of proof found that ours still answers nothing. It takes our place after
 * `offsetHoldMs` in which ours still brought no events: an event log that lags by less has shown by then every event
 * between the two. `answered`: what our offset was answered; `doubt` when there is a sign against it.
 */
export function holdOffset(
  held: HeldOffset | null,
  { phase, sign, start, startMs }: GapProof,
  answered: 'moved' | 'nothing' | 'doubt',
  at: { readonly heldMs: number | null; readonly nowMs: number; readonly offsetHoldMs: number },
): Holding {
  if (answered === 'moved') return { held: null, begins: false, replacement: null };
  if (phase === 'proven' && sign === 'unmoved' && start !== null) {
    return { held: { since: start, heldMs: Math.round(at.nowMs - startMs) }, begins: true, replacement: null };
  }
  const still = held === null || at.heldMs === null ? null : { ...held, heldMs: at.heldMs };
  const isOver = answered === 'nothing' && still !== null && still.heldMs >= at.offsetHoldMs;
  return { held: isOver ? null : still, begins: false, replacement: isOver ? still : null };
}

/** The evidence once a fresh offset is held beside ours, or is to take its place. */
export function proofBeside(
  weighed: GapProof,
  { begins, replacement }: Holding,
  at: {
    readonly isSuspected: boolean;
    readonly held: HeldOffset | null;
    readonly heldMs: number | null;
    readonly nowMs: number;
  },
): GapProof {
  const { isSuspected, held, heldMs, nowMs } = at;
  if (begins) return { ...NO_PROOF, phase: 'resting', sign: 'overtaken', lastMs: nowMs };
  if (replacement !== null && !isSuspected) return NO_PROOF;
  // Whether something lay between the two is not known, so it is reported as lost.
  if (replacement !== null) {
    const { since: start, heldMs: ms } = replacement;
    return { ...NO_PROOF, phase: 'proven', sign: 'unmoved', start, startMs: nowMs - ms };
  }
  // Nothing behind the one that is held is lost, unless it has grown as old as ours.
  const isTaken = weighed.phase === 'proven' && (weighed.sign === 'quiet' || weighed.sign === 'overtaken');
  if (!isTaken || held === null || heldMs === null || isGapSuspected(heldMs)) return weighed;
  return { ...weighed, start: held.since, startMs: nowMs - heldMs };
}
