import { ConnectorError } from '../../errors.ts';
import { compareStreamOffsets, isBefore, type StreamReading, type StreamResponse } from './stream-response.ts';

/*
 * Decides when another offset replaces our offset in the stream. There are three reasons: the events after our offset
 * have expired (a retention gap), the provider's log has begun again, or a replica of the provider is behind.
 *
 * The response to a request from our offset may be a *sign* against our offset (`GapSign`). A sign begins a *round* of
 * three requests. Request 1 gets a fresh start E: the offset of a new source. Request 2 reads the stream from E.
 * Request 3 reads the stream from our offset again. If request 2 gets status 200, and request 3 shows the same sign, E
 * is *held*. A response without a sign ends the hold. Rounds repeat. A held E replaces our offset after this time:
 *
 * - E is lower than our offset: `behindLimit`, an hour. The provider usually recovers in minutes, and a lower offset
 *   repeats events. E is held only if the end of the stream from E is lower too. If not, the list that gave E lags.
 * - Our offset brings no events: `offsetHold`, a day. The event log may lag behind the list by hours.
 * - Our offset brings no events, but E brings events: `gapProof`, some minutes.
 * - Our offset is refused, or its events repeat, or it has expired by all clocks: `gapProof` too.
 *
 * Later rounds keep the first E, because a newer E would skip more events. If our offset is older than six and a half
 * days by one clock, a gap is only *suspected*. A suspicion causes a walk.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The provider keeps events for this time (part 8 of src/provider/README.md). */
export const RETENTION_MS = 7 * DAY_MS;
const MARGIN_MS = 12 * HOUR_MS;
const UNMOVED_MS = 6 * HOUR_MS;
const HEALED_GAPS_PER_DAY = 2;
// Statuses about credentials, permissions, timeouts or rates. They say nothing about our offset.
const NEUTRAL_STATUS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** At this age, a gap is suspected. It is certain only half a day later. */
export const SUSPECTED_AGE_MS = RETENTION_MS - MARGIN_MS + 1;

export function isGapSuspected(ageMs: number): boolean {
  return ageMs > RETENTION_MS - MARGIN_MS;
}

export function refusesOffset(status: number): boolean {
  return status >= 400 && status < 500 && !NEUTRAL_STATUS.has(status);
}

export type GapSign =
  | 'refused'
  /** The response has events, but does not move our offset on. */
  | 'stuck'
  /** The response names an offset that is lower than our offset. */
  | 'lower'
  /** No events and the same offset, after our offset has expired. */
  | 'quiet'
  /** No events and the same offset for hours. A fresh start would expire later than our offset. */
  | 'unmoved';

export interface OffsetKnown {
  readonly isSuspected: boolean;
  /** Our offset has expired, so an empty response is a sign against the offset. */
  readonly isOver: boolean;
  /** The longest possible time since the provider confirmed our offset. */
  readonly ageMs: number;
  /** A recent fresh start was not lower than our offset. So a lower offset in a response is not a sign. */
  readonly isNoReset: boolean;
}

export interface HeldOffset {
  readonly since: string;
  readonly heldMs: number;
}

interface Position {
  readonly since: string;
  readonly held: HeldOffset | null;
}

export function signAgainst(
  reading: StreamReading | 'refused',
  position: Position,
  response: StreamResponse | null,
  { isSuspected, isOver, ageMs, isNoReset }: OffsetKnown,
): GapSign | null {
  if (reading === 'moved') return null;
  // A provider may answer an expired offset with the lowest offset of the stream, or without events.
  const isEmpty = reading === 'quiet' || (reading === 'lower' && isNoReset && isOver);
  if (!isEmpty) return reading;
  if (!isNoReset && namesLower(reading, position.since, response)) return 'lower';
  if (isOver) return 'quiet';
  const isHeld = position.held !== null && !isProviderBehind(position);
  return isHeld || isSuspected || ageMs >= UNMOVED_MS ? 'unmoved' : null;
}

export function namesLower(
  reading: StreamReading | 'refused',
  since: string,
  response: StreamResponse | null,
): boolean {
  if (response === null || reading === 'moved') return false;
  return reading === 'lower' || isBefore(response.nextId, since);
}

/** True if the end of the provider's stream is lower than our offset. */
export function isProviderBehind({ since, held }: { readonly since: string | null; readonly held: HeldOffset | null }) {
  return since !== null && held !== null && isBefore(held.since, since);
}

/** The progress of the proof that the provider no longer accepts our offset. Times are monotonic. */
export interface Doubt {
  readonly sign: GapSign | null;
  readonly round: GapRound | null;
  /** When the first round with evidence against our offset ended; null before this time. */
  readonly firstMs: number | null;
  readonly lastMs: number;
}

type GapRound =
  | { readonly wants: 'start'; readonly fromMs: number }
  | {
      readonly wants: 'verify' | 'sign';
      readonly start: string;
      readonly cameMs: number;
      readonly at: string;
      /** The start is higher than our offset and brings events, while our offset brings no events. */
      readonly overtakes: boolean;
    };

export const NO_DOUBT: Doubt = { sign: null, round: null, firstMs: null, lastMs: Number.NEGATIVE_INFINITY };

export interface GapContext {
  readonly nowMs: number;
  readonly gapProofMs: number;
  readonly offsetHoldMs: number;
  readonly behindLimitMs: number;
}

export interface AdoptedOffset extends HeldOffset {
  readonly why: GapSign | 'overtaken';
}

export function weighSign(
  before: Doubt,
  sign: GapSign | null,
  { since: ours, held: earlier }: Position,
  at: GapContext & { readonly isSuspected: boolean },
) {
  if (sign === null) return { doubt: NO_DOUBT, held: null, adopted: null, isRound: false };
  const { nowMs } = at;
  let doubt: Doubt = before.sign === sign ? before : { ...NO_DOUBT, sign };
  let held = earlier;
  const { round } = doubt;
  const isRound = round?.wants === 'sign';
  if (isRound) {
    const { start, cameMs, overtakes } = round;
    // An offset that was held for days may have expired too.
    const isKept =
      held !== null && isBefore(held.since, ours) === isBefore(start, ours) && !isGapSuspected(held.heldMs);
    if (!isKept) held = { since: start, heldMs: Math.round(nowMs - cameMs) };
    const speaksAgainst = sign !== 'unmoved' || overtakes;
    const firstMs = isKept ? (doubt.firstMs ?? nowMs) : nowMs;
    doubt = { sign, round: null, firstMs: speaksAgainst ? firstMs : null, lastMs: nowMs };
  }
  const isDue = held !== null && isHeldEnough(doubt, held, ours, { ...at, isRound });
  if (isDue && held !== null) {
    const why: AdoptedOffset['why'] = sign === 'unmoved' && doubt.firstMs !== null ? 'overtaken' : sign;
    return { doubt: NO_DOUBT, held: null, adopted: { ...held, why }, isRound };
  }
  return { doubt: beginRound(doubt, held, ours, at), held, adopted: null, isRound };
}

function isHeldEnough(
  { sign, firstMs }: Doubt,
  held: HeldOffset,
  ours: string,
  { nowMs, gapProofMs, offsetHoldMs, behindLimitMs, isRound }: GapContext & { readonly isRound: boolean },
): boolean {
  if (isBefore(held.since, ours)) return isRound && held.heldMs >= behindLimitMs;
  if (firstMs !== null) return isRound && nowMs - firstMs >= gapProofMs;
  return sign === 'unmoved' && held.heldMs >= offsetHoldMs;
}

/** Begins a round half of `gapProof` after the last round. Without evidence against our offset, an hour must pass. */
function beginRound(
  doubt: Doubt,
  held: HeldOffset | null,
  ours: string,
  { nowMs, gapProofMs, isSuspected }: GapContext & { readonly isSuspected: boolean },
): Doubt {
  const { sign, round, firstMs, lastMs } = doubt;
  const isPatient = sign === 'unmoved' && firstMs === null && !isSuspected && !isBefore(held?.since, ours);
  if (round !== null || nowMs - lastMs < (isPatient ? HOUR_MS : gapProofMs / 2)) return doubt;
  if (sign !== 'unmoved' || held === null || isBefore(held.since, ours)) {
    return { ...doubt, round: { wants: 'start', fromMs: nowMs } };
  }
  // If offsets have no order, the held offset may be older than ours. Then events after the held offset prove nothing.
  if (compareStreamOffsets(held.since, ours) === null) return doubt;
  const cameMs = nowMs - held.heldMs;
  return { ...doubt, round: { wants: 'verify', start: held.since, at: held.since, cameMs, overtakes: false } };
}

function endRound(doubt: Doubt, nowMs: number): Doubt {
  return { ...doubt, round: null, firstMs: null, lastMs: nowMs };
}

/** True if the start was requested after the sign. A start that was requested earlier may be older than the sign. */
export function isForRound({ round }: Doubt, askedMs: number): boolean {
  return round?.wants === 'start' && askedMs >= round.fromMs;
}

/** `start`: null if the fresh start cannot replace our offset. */
export function weighStart(doubt: Doubt, start: string | null, ours: string, nowMs: number): Doubt {
  const isUsable = start !== null && start !== ours && (doubt.sign !== 'lower' || isBefore(start, ours));
  if (!isUsable) return endRound(doubt, nowMs);
  return { ...doubt, round: { wants: 'verify', start, at: start, cameMs: nowMs, overtakes: false } };
}

export interface VerifiedStart {
  readonly taken: boolean;
  readonly items: number;
  readonly next: string | null;
}

export function weighVerified(doubt: Doubt, { taken, items, next }: VerifiedStart, ours: string, nowMs: number): Doubt {
  const { sign, round } = doubt;
  if (round?.wants !== 'verify') return doubt;
  if (!taken) return endRound(doubt, nowMs);
  const { start, at } = round;
  if (!isBefore(start, ours)) {
    const overtakes = items > 0 && (compareStreamOffsets(start, ours) ?? 0) > 0;
    return { ...doubt, round: { ...round, wants: 'sign', overtakes } };
  }
  if (next !== null && !isBefore(next, ours)) {
    // The stream goes on after our offset, so the provider is not behind. The signs `refused` and `stuck` still count.
    if (sign !== 'refused' && sign !== 'stuck') return endRound(doubt, nowMs);
  } else if (next !== null && isBefore(at, next)) return { ...doubt, round: { ...round, at: next } };
  return { ...doubt, round: { ...round, wants: 'sign' } };
}

/** While our offset is in doubt, an empty response does not show the end of the stream. */
export function isOffsetInDoubt({ sign, round, firstMs }: Doubt): boolean {
  if (sign === null) return false;
  if (firstMs !== null) return true;
  if (sign === 'unmoved') return round?.wants === 'sign' && round.overtakes;
  return round !== null;
}

/** @throws ConnectorError RETENTION_GAPS_REPEAT at the third gap within a day: repeated gaps could hide lost events. */
export function healedOnceMore(healedAtMs: readonly number[], nowDateMs: number): readonly number[] {
  // Times in the future count too, because the clock may have been set back.
  const recent = healedAtMs.filter((healed) => Math.abs(nowDateMs - healed) < DAY_MS);
  if (recent.length < HEALED_GAPS_PER_DAY) return [...recent, nowDateMs];
  throw new ConnectorError(
    'RETENTION_GAPS_REPEAT',
    'The provider no longer serves our offset, although the source continued from a fresh offset ' +
      `${HEALED_GAPS_PER_DAY} times within a day. The committed offset was kept.`,
  );
}
