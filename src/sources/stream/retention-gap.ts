import { ConnectorError } from '../../errors.ts';
import { compareStreamOffsets, isNewestLower, type StreamReading, type StreamResponse } from './stream-response.ts';

/*
 * When our offset gives way to another one. The provider may have dropped the events behind it, which are kept for
 * seven days (a retention gap). Its log may have begun again. Or a replica answers that is behind.
 *
 * One rule covers all of them. A response to our offset may be a bad sign. Then a *round* asks for a fresh start E of
 * the stream, asks the stream from E, which must get 200, and asks for our offset again: the same sign completes the
 * round. E is then *held* beside our offset, which is still the one that is read. Rounds repeat. E takes the place of
 * our offset when it was held for long enough, and everything that our offset brings ends the holding. The time depends
 * on what would be wrong if E came too early:
 *
 * - E lies before our offset: the provider is behind. `behindLimit`, an hour: a fail-over heals in minutes, and a lower
 *   offset brings events again. E counts only where the stream from E on ends before our offset too; where it does not,
 *   the list lags, which gave E.
 * - Our offset answers nothing, as a quiet stream does: `offsetHold`, a day. The event log may lag the list by hours,
 *   and what it does not show yet lies between the two.
 * - Our offset is refused, repeats itself, has stood still for seven days by all clocks, or is empty while E has events:
 *   `gapProof`, minutes.
 *
 * The first E is held, so that nothing is lost of what happens meanwhile. A clock alone gives no offset up: after six
 * and a half days by the clock that shows more time, a gap is *suspected*, which costs a walk.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the provider keeps events (part 8 of src/provider/README.md). */
export const RETENTION_MS = 7 * DAY_MS;
const MARGIN_MS = 12 * HOUR_MS;
/** An offset that has brought no events for so long may expire unseen. */
const UNMOVED_MS = 6 * HOUR_MS;
const HEALED_GAPS_PER_DAY = 2;
// The answers that say nothing about our offset: credentials, permission, patience.
const NEUTRAL_STATUS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

export function isGapSuspected(ageMs: number): boolean {
  return ageMs > RETENTION_MS - MARGIN_MS;
}

export function refusesOffset(status: number): boolean {
  return status >= 400 && status < 500 && !NEUTRAL_STATUS.has(status);
}

export type GapSign =
  | 'refused'
  /** Events, but the same cursor. */
  | 'stuck'
  /** Names an offset before ours. */
  | 'lower'
  /** No events and the same cursor, after it has not moved for longer than events are kept. */
  | 'quiet'
  /** No events and the same cursor for long: nothing is wrong with it, but a fresh one is better. */
  | 'unmoved';

/** Of our offset, when a response to it has come. */
export interface OffsetKnown {
  readonly isSuspected: boolean;
  /** By all clocks: then an empty response speaks against it. */
  readonly isOver: boolean;
  /** How long ago it was known to be one that is served, at most. */
  readonly ageMs: number;
  /** A fresh start lately did not lie before it: a lower offset in responses is no sign. */
  readonly isNoReset: boolean;
}

/** A fresh offset of the stream that is held beside ours. */
export interface HeldOffset {
  readonly since: string;
  readonly heldMs: number;
}

interface Position {
  readonly since: string;
  readonly held: HeldOffset | null;
}

/** Null for no sign. `response`: null of a refusal. */
export function signAgainst(
  reading: StreamReading | 'refused',
  position: Position,
  response: StreamResponse | null,
  { isSuspected, isOver, ageMs, isNoReset }: OffsetKnown,
): GapSign | null {
  if (reading === 'moved') return null;
  // A provider may answer what it no longer knows with an offset that is its lowest, or with none at all.
  const isEmpty = reading === 'quiet' || (reading === 'lower' && isNoReset && isOver);
  if (!isEmpty) return reading;
  if (!isNoReset && namesLower(reading, position.since, response)) return 'lower';
  if (isOver) return 'quiet';
  const isHeld = position.held !== null && !isProviderBehind(position);
  return isHeld || isSuspected || ageMs >= UNMOVED_MS ? 'unmoved' : null;
}

/** The response names an offset before ours, as its cursor or as the newest one. */
export function namesLower(
  reading: StreamReading | 'refused',
  since: string,
  response: StreamResponse | null,
): boolean {
  if (response === null || reading === 'moved') return false;
  return reading === 'lower' || isNewestLower(since, response);
}

/** The stream ends before our offset: nothing of it is new to us. */
export function isProviderBehind({ since, held }: { readonly since: string | null; readonly held: HeldOffset | null }) {
  return since !== null && held !== null && isBefore(held.since, since);
}

/** The proof that our offset is not served any more, as far as it is. Times are monotonic. */
export interface Doubt {
  readonly sign: GapSign | null;
  readonly round: GapRound | null;
  /** When the first round ended that speaks against our offset; null for none since the last one that does not. */
  readonly firstMs: number | null;
  /** When a round last ended. */
  readonly lastMs: number;
}

type GapRound =
  | { readonly wants: 'start'; readonly fromMs: number }
  /** `sign`: all but the sign has come. */
  | {
      readonly wants: 'verify' | 'sign';
      readonly start: string;
      readonly cameMs: number;
      /** How far the stream was read from the start on. */
      readonly at: string;
      /** It has events, and lies beyond our offset, which has none. */
      readonly overtakes: boolean;
    };

export const NO_DOUBT: Doubt = { sign: null, round: null, firstMs: null, lastMs: Number.NEGATIVE_INFINITY };

/** The settings of a proof, and the moment. */
export interface GapContext {
  readonly nowMs: number;
  readonly gapProofMs: number;
  readonly offsetHoldMs: number;
  readonly behindLimitMs: number;
}

/** Another offset that replaces the committed one. */
export interface AdoptedOffset extends HeldOffset {
  readonly why: GapSign | 'overtaken';
}

export interface Weighed {
  readonly doubt: Doubt;
  readonly held: HeldOffset | null;
  readonly adopted: AdoptedOffset | null;
  readonly isRound: boolean;
}

/** `held`: with its time up to now. */
export function weighSign(
  before: Doubt,
  sign: GapSign | null,
  { since: ours, held: earlier }: Position,
  at: GapContext & { readonly isSuspected: boolean },
): Weighed {
  if (sign === null) return { doubt: NO_DOUBT, held: null, adopted: null, isRound: false };
  const { nowMs } = at;
  let doubt: Doubt = before.sign === sign ? before : { ...NO_DOUBT, sign };
  let held = earlier;
  const { round } = doubt;
  const isRound = round?.wants === 'sign';
  if (isRound) {
    const { start, cameMs, overtakes } = round;
    // One that has grown as old as ours may have expired as well.
    const isKept =
      held !== null && isBefore(held.since, ours) === isBefore(start, ours) && !isGapSuspected(held.heldMs);
    if (!isKept) held = { since: start, heldMs: Math.round(nowMs - cameMs) };
    const speaksAgainst = sign !== 'unmoved' || overtakes;
    const firstMs = isKept ? (doubt.firstMs ?? nowMs) : nowMs;
    doubt = { sign, round: null, firstMs: speaksAgainst ? firstMs : null, lastMs: nowMs };
  }
  const isDue = held !== null && isHeldEnough(doubt, held, ours, { ...at, isRound });
  if (isDue && held !== null) {
    const why = sign === 'unmoved' && doubt.firstMs !== null ? 'overtaken' : sign;
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

/** Rounds follow each other by half a proof; where nothing speaks against our offset, there is no hurry. */
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
  // Where offsets have no order, the one that is held may lie before ours: that it has events means nothing.
  if (compareStreamOffsets(held.since, ours) === null) return doubt;
  const cameMs = nowMs - held.heldMs;
  return { ...doubt, round: { wants: 'verify', start: held.since, at: held.since, cameMs, overtakes: false } };
}

/** A round that came to nothing. */
function endRound(doubt: Doubt, nowMs: number): Doubt {
  return { ...doubt, round: null, firstMs: null, lastMs: nowMs };
}

/** A start that was requested before the sign may be older than the sign. */
export function isForRound({ round }: Doubt, askedMs: number): boolean {
  return round?.wants === 'start' && askedMs >= round.fromMs;
}

/** The round after a fresh start came that it has asked for; null: the start cannot take the place of our offset. */
export function weighStart(doubt: Doubt, start: string | null, ours: string, nowMs: number): Doubt {
  const isUsable = start !== null && start !== ours && (doubt.sign !== 'lower' || isBefore(start, ours));
  if (!isUsable) return endRound(doubt, nowMs);
  return { ...doubt, round: { wants: 'verify', start, at: start, cameMs: nowMs, overtakes: false } };
}

/** The stream's response to the fresh start, or to the last cursor behind it. */
export interface VerifiedStart {
  /** It got 200. */
  readonly taken: boolean;
  readonly items: number;
  /** Where to go on; null where that is not known. */
  readonly next: string | null;
}

/** The round after the stream was asked from the fresh start on. */
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
    // The stream goes on beyond our offset: it is not behind. What it refuses it refuses all the same.
    if (sign !== 'refused' && sign !== 'stuck') return endRound(doubt, nowMs);
  } else if (next !== null && isBefore(at, next)) return { ...doubt, round: { ...round, at: next } };
  return { ...doubt, round: { ...round, wants: 'sign' } };
}

/** With anything against our offset, an empty response does not mean that there were no events. */
export function isOffsetInDoubt({ sign, round, firstMs }: Doubt): boolean {
  if (sign === null) return false;
  if (firstMs !== null) return true;
  if (sign === 'unmoved') return round?.wants === 'sign' && round.overtakes;
  return round !== null;
}

/** False where the two have no order. */
export function isBefore(a: string | undefined, b: string): boolean {
  return a !== undefined && (compareStreamOffsets(a, b) ?? 0) < 0;
}

/**
 * The times of healed gaps with one more; those older than a day are dropped.
 *
 * @throws ConnectorError RETENTION_GAPS_REPEAT when two were healed within the day already: then something else is
 *   wrong, and going on would lose events day by day unnoticed.
 */
export function healedOnceMore(healedAtMs: readonly number[], nowDateMs: number): readonly number[] {
  // A clock that was set back must not wipe out the memory, so the distance counts in both directions.
  const recent = healedAtMs.filter((healed) => Math.abs(nowDateMs - healed) < DAY_MS);
  if (recent.length < HEALED_GAPS_PER_DAY) return [...recent, nowDateMs];
  throw new ConnectorError(
    'RETENTION_GAPS_REPEAT',
    `The event stream has lost our offset again, after ${HEALED_GAPS_PER_DAY} gaps within a day that were healed by ` +
      'going on from a fresh offset. The committed offset was kept.',
  );
}
