import { ConnectorError } from '../../errors.ts';
import { compareStreamOffsets } from './stream-offset.ts';

/*
 * A retention gap: the provider has dropped events that we have not read yet. A gap is first suspected, then proven,
 * and the two have different costs. To *suspect* one costs a walk, so a clock is enough; the clock that shows more time
 * counts, so that one wrong clock cannot hide a gap. Our offset is kept meanwhile, since the provider may still serve
 * most of what follows it.
 * To take one as *proven* gives our offset up for good, so it takes three rounds of evidence. A round is: our offset
 * gets a bad sign; a fresh start E of the stream is asked for; the same request with E gets 200; our offset gets the
 * same sign again. The stream goes on after the first of these E, so that nothing is lost while a gap is proven.
 *
 * An offset does not move while every event is filtered out. It then expires like an offset that is never read, and a
 * provider may answer an expired offset with an empty list for ever. So it is replaced long before that: after one such
 * round, E is held beside our offset for a day, and our offset is still the one that is read. If it brings no event in
 * that day, nothing lies between the two, unless the event log lags the list, which gave E, by more than that day.
 *
 * An empty response to our offset is a bad sign only once it has not moved for longer than events are kept, whichever
 * clock is right. Where a gap is merely suspected, by one clock or shortly before that time, E is held as beside any
 * offset that does not move: the log may lag the list by hours, and what it does not show yet lies between the two. If E
 * is answered with events that ours is not, ours is *overtaken*, which is a bad sign too. An offset that was suspected
 * all the day, and then gives way to E, is reported as lost.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the provider keeps events (part 8 of src/provider/README.md). */
export const RETENTION_MS = 7 * DAY_MS;
const MARGIN_MS = 12 * HOUR_MS;
const UNMOVED_MS = 6 * HOUR_MS;
const ROUNDS_OF_PROOF = 3;
const HEALED_GAPS_PER_DAY = 2;
// The answers that say nothing about our offset: credentials, permission, patience.
const NEUTRAL_STATUS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Whether a gap is likely behind an offset that was known to be served this long ago. */
export function isGapSuspected(ageMs: number): boolean {
  return ageMs > RETENTION_MS - MARGIN_MS;
}

/** Whether an offset has not moved for longer than events are kept; `leastAgeMs`: by the clock that shows less time. */
export function isExpired(leastAgeMs: number): boolean {
  return leastAgeMs > RETENTION_MS;
}

/** Whether an offset that brings no events has not moved for so long that a fresh one should take its place. */
export function isUnmovedForLong(ageMs: number): boolean {
  return ageMs >= UNMOVED_MS;
}

/** Whether a status refuses our offset, and not our credentials or our haste. */
export function refusesOffset(status: number): boolean {
  return status >= 400 && status < 500 && !NEUTRAL_STATUS.has(status);
}

/** What a response to our offset says against it. */
export type GapSign =
  | 'refused'
  /** No events and the same cursor; counts only once the offset has not moved for longer than events are kept. */
  | 'quiet'
  /** Offers an offset lower than ours. */
  | 'lower'
  /** Events, but the same cursor. */
  | 'stuck'
  /** No events and the same cursor for long, or it may have expired: no sign against it, but a fresh one is better. */
  | 'unmoved'
  /** No events and the same cursor, while a fresh one is held: that one may have events that ours does not bring. */
  | 'overtaken';

export type GapPhase = 'none' | 'resting' | 'wantsStart' | 'wantsVerify' | 'wantsAgain' | 'proven';

/** The evidence so far. */
export interface GapProof {
  readonly phase: GapPhase;
  readonly sign: GapSign | null;
  /** Complete rounds. */
  readonly rounds: number;
  /** When the first of them ended, by the monotonic clock, and when the newest did or came to nothing. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** When a fresh start was first wanted in this round; once it has come, when that was. */
  readonly startMs: number;
  /** The newest fresh start of the stream; where a proven gap goes on. */
  readonly start: string | null;
  /** That of the first complete round, and when it came. */
  readonly firstStart: string | null;
  readonly firstStartMs: number;
}

export type GapInput =
  /** Our offset was answered as it should be. */
  | { readonly kind: 'healthy' }
  | { readonly kind: 'sign'; readonly sign: Exclude<GapSign, 'overtaken'>; readonly isSuspected?: boolean }
  | { readonly kind: 'sign'; readonly sign: 'overtaken'; readonly held: string; readonly isSuspected: boolean }
  /** A fresh start of the stream came; null: it cannot replace the committed offset. `askedMs`: when it was asked for. */
  | { readonly kind: 'start'; readonly since: string | null; readonly ours: string; readonly askedMs: number }
  /** `items`: how many events it was answered with. */
  | { readonly kind: 'startVerified'; readonly items: number }
  | { readonly kind: 'startRefused' };

interface GapContext {
  readonly nowMs: number;
  readonly gapProofMs: number;
}

export const NO_PROOF: GapProof = {
  phase: 'none',
  sign: null,
  rounds: 0,
  firstMs: 0,
  lastMs: 0,
  startMs: 0,
  start: null,
  firstStart: null,
  firstStartMs: 0,
};

type Cell<K extends GapInput['kind']> = (
  proof: GapProof,
  input: Extract<GapInput, { kind: K }>,
  at: GapContext,
) => GapProof;

type Table = { readonly [P in GapPhase]: { readonly [K in GapInput['kind']]: Cell<K> } };

const forget = () => NO_PROOF;
const stay = (proof: GapProof) => proof;
/** A round that proved nothing; the next one may begin half a proof later, so that polls do not start rounds without end. */
const giveUp = (proof: GapProof, _: unknown, { nowMs }: GapContext): GapProof => ({
  ...NO_PROOF,
  phase: 'resting',
  sign: proof.sign,
  lastMs: nowMs,
});
/** Another round: with a fresh start of the stream, or with the one that is held. */
const beginRound: Cell<'sign'> = (proof, input, { nowMs }) =>
  input.sign === 'overtaken'
    ? { ...proof, phase: 'wantsVerify', sign: input.sign, start: input.held, startMs: nowMs }
    : { ...proof, phase: 'wantsStart', sign: input.sign, startMs: nowMs };
/** The same sign continues the evidence as `then` says; another sign starts it again. */
const ifSame =
  (then: Cell<'sign'>): Cell<'sign'> =>
  (proof, input, at) =>
    input.sign === proof.sign ? then(proof, input, at) : beginRound(NO_PROOF, input, at);
/** A wait that is no urgent matter: nothing speaks against our offset. */
const isPatient = ({ sign, rounds }: GapProof, { isSuspected = false }: Extract<GapInput, { kind: 'sign' }>) =>
  (sign === 'unmoved' || sign === 'overtaken') && rounds === 0 && !isSuspected;

/** Every phase meets every input; the compiler finds a missing cell. */
const TABLE: Table = {
  none: {
    healthy: forget,
    sign: (_, input, at) => beginRound(NO_PROOF, input, at),
    start: stay,
    startVerified: stay,
    startRefused: stay,
  },
  resting: {
    healthy: forget,
    sign: ifSame((proof, input, at) => {
      const restMs = isPatient(proof, input) ? HOUR_MS : at.gapProofMs / (ROUNDS_OF_PROOF - 1);
      return at.nowMs - proof.lastMs >= restMs ? beginRound(proof, input, at) : proof;
    }),
    start: stay,
    startVerified: stay,
    startRefused: stay,
  },
  wantsStart: {
    healthy: forget,
    sign: ifSame(stay),
    start: (proof, input, at) => {
      const { since, ours } = input;
      if (!isForRound(proof, input)) return proof;
      return since !== null && isFresher(since, ours, proof.sign)
        ? { ...proof, phase: 'wantsVerify', start: since, startMs: at.nowMs }
        : giveUp(proof, null, at);
    },
    startVerified: stay,
    startRefused: stay,
  },
  wantsVerify: {
    healthy: forget,
    sign: ifSame(stay),
    start: stay,
    // What is held and has no event either says nothing against ours.
    startVerified: (proof, { items }, at) =>
      proof.sign === 'overtaken' && items === 0 ? giveUp(proof, null, at) : { ...proof, phase: 'wantsAgain' },
    startRefused: giveUp,
  },
  wantsAgain: {
    healthy: forget,
    sign: ifSame((proof, _, { nowMs, gapProofMs }) => {
      if (proof.sign === 'unmoved') return { ...proof, phase: 'proven' };
      const rounds = proof.rounds + 1;
      const isFirst = proof.rounds === 0;
      const firstMs = isFirst ? nowMs : proof.firstMs;
      const { start: firstStart, startMs: firstStartMs } = isFirst
        ? proof
        : { start: proof.firstStart, startMs: proof.firstStartMs };
      const after = { ...proof, rounds, firstMs, lastMs: nowMs, firstStart, firstStartMs };
      const isProven = rounds >= ROUNDS_OF_PROOF && nowMs - firstMs >= gapProofMs;
      return isProven
        ? { ...after, phase: 'proven', start: firstStart, startMs: firstStartMs }
        : { ...after, phase: 'resting' };
    }),
    start: stay,
    startVerified: stay,
    startRefused: stay,
  },
  proven: { healthy: stay, sign: stay, start: stay, startVerified: stay, startRefused: stay },
};

/** Whether a fresh start is the one that a round asked for: one from before the sign may be from before what it shows. */
export function isForRound({ phase, startMs }: GapProof, { askedMs }: Extract<GapInput, { kind: 'start' }>): boolean {
  return phase === 'wantsStart' && askedMs >= startMs;
}

/** Whether a fresh start can take the place of our offset; where offsets can be compared, only a reset goes back. */
function isFresher(since: string, ours: string, sign: GapSign | null): boolean {
  const order = compareStreamOffsets(since, ours);
  if (sign === 'lower') return order !== null && order < 0;
  return since !== ours && !(sign === 'unmoved' && order !== null && order < 0);
}

/** Whether there is anything against our offset: then a response without events does not mean that there were none. */
export function isOffsetInDoubt({ phase, sign, rounds }: GapProof): boolean {
  // Only once the one that is held was answered with events.
  if (sign === 'overtaken') return rounds > 0 || phase === 'wantsAgain';
  return phase !== 'none' && sign !== 'unmoved' && !(phase === 'resting' && rounds === 0);
}

/** The evidence after one more response. */
export function weighGap(proof: GapProof, input: GapInput, at: GapContext): GapProof {
  const cell = TABLE[proof.phase][input.kind] as (proof: GapProof, input: GapInput, at: GapContext) => GapProof;
  return cell(proof, input, at);
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
