import { ConnectorError } from '../../errors.ts';
import { compareStreamOffsets } from './stream-offset.ts';

/*
 * A retention gap: events lie behind us that the provider has dropped. Its two halves have different costs. To
 * *suspect* one costs a walk, so a clock is enough, and whichever of two says more counts: neither alone can hide a
 * gap. Our offset is kept meanwhile, since the provider may still serve most of it.
 * To take one as *proven* gives our offset up for good, so it takes three rounds of evidence. A round is: our offset
 * gets a bad sign; a fresh start E of the stream is asked for; the same request with E gets 200; our offset gets the
 * same sign again. E is older than the last of these, so whatever our offset could still have served is not lost.
 *
 * An offset that stands still, since all is filtered out, grows as old as one of which nothing was asked, and a provider
 * may answer it with nothing for ever once it has expired. So it is replaced long before that: after one such round E is
 * held beside ours for a day, in which ours is asked as ever. It still answers nothing then: so nothing lies between the
 * two, unless the event log lags the list, which gave E, by more than that day.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the provider keeps events (part 8 of src/provider/README.md). */
export const RETENTION_MS = 7 * DAY_MS;
const MARGIN_MS = 12 * HOUR_MS;
const STANDING_MS = 6 * HOUR_MS;
const ROUNDS_OF_PROOF = 3;
const HEALED_GAPS_PER_DAY = 2;
// The answers that say nothing about our offset: credentials, permission, patience.
const NEUTRAL_STATUS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Whether a gap is likely behind an offset that was known to be served this long ago. */
export function isGapSuspected(ageMs: number): boolean {
  return ageMs > RETENTION_MS - MARGIN_MS;
}

/** Whether an offset that is answered with nothing has stood still for so long that a fresh one is due in its place. */
export function isStanding(ageMs: number): boolean {
  return ageMs >= STANDING_MS;
}

/** Whether a status refuses our offset, and not our credentials or our haste. */
export function refusesOffset(status: number): boolean {
  return status >= 400 && status < 500 && !NEUTRAL_STATUS.has(status);
}

/** What an answer to our offset says against it. */
export type GapSign =
  | 'refused'
  /** Answered nothing and stayed; counts only once a gap is suspected. */
  | 'quiet'
  /** Offers an offset lower than ours. */
  | 'lower'
  /** Events, but the same cursor. */
  | 'stuck'
  /** Answered nothing and stayed for long, though no gap is suspected: nothing against it, but a fresh one is better. */
  | 'standing';

export type GapPhase = 'none' | 'resting' | 'wantsStart' | 'wantsTrial' | 'wantsAgain' | 'proven';

/** The evidence so far. */
export interface GapProof {
  readonly phase: GapPhase;
  readonly sign: GapSign | null;
  /** Complete rounds. */
  readonly rounds: number;
  /** When the first of them ended, by the monotonic clock, and when the newest did or came to nothing. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** When the fresh start came. */
  readonly startMs: number;
  /** The newest fresh start of the stream; where a proven gap goes on. */
  readonly start: string | null;
}

export type GapInput =
  /** Our offset was answered as it should be. */
  | { readonly kind: 'healthy' }
  | { readonly kind: 'sign'; readonly sign: GapSign }
  /** A fresh start of the stream came; null: it came to nothing that could take the place of ours. */
  | { readonly kind: 'start'; readonly since: string | null; readonly ours: string }
  | { readonly kind: 'trialTaken' }
  | { readonly kind: 'trialRefused' };

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
};

type Cell<K extends GapInput['kind']> = (
  proof: GapProof,
  input: Extract<GapInput, { kind: K }>,
  at: GapContext,
) => GapProof;

type Table = { readonly [P in GapPhase]: { readonly [K in GapInput['kind']]: Cell<K> } };

const forget = () => NO_PROOF;
const stay = (proof: GapProof) => proof;
/** A round that proved nothing; the next one may begin half a proof later, so that no poll asks in vain. */
const giveUp = (proof: GapProof, _: unknown, { nowMs }: GapContext): GapProof => ({
  ...NO_PROOF,
  phase: 'resting',
  sign: proof.sign,
  lastMs: nowMs,
});
/** The same sign goes on with the evidence as `then` says; another one begins anew. */
const ifSame =
  (then: Cell<'sign'>): Cell<'sign'> =>
  (proof, input, at) =>
    input.sign === proof.sign ? then(proof, input, at) : { ...NO_PROOF, phase: 'wantsStart', sign: input.sign };

/** Every phase meets every input; the compiler finds a missing cell. */
const TABLE: Table = {
  none: {
    healthy: forget,
    sign: (_, { sign }) => ({ ...NO_PROOF, phase: 'wantsStart', sign }),
    start: stay,
    trialTaken: stay,
    trialRefused: stay,
  },
  resting: {
    healthy: forget,
    sign: ifSame((proof, _, { nowMs, gapProofMs }) => {
      const restMs = proof.sign === 'standing' ? HOUR_MS : gapProofMs / (ROUNDS_OF_PROOF - 1);
      const isDue = nowMs - proof.lastMs >= restMs;
      return isDue ? { ...proof, phase: 'wantsStart' } : proof;
    }),
    start: stay,
    trialTaken: stay,
    trialRefused: stay,
  },
  wantsStart: {
    healthy: forget,
    sign: ifSame(stay),
    start: (proof, { since, ours }, at) =>
      since !== null && isFresher(since, ours, proof.sign)
        ? { ...proof, phase: 'wantsTrial', start: since, startMs: at.nowMs }
        : giveUp(proof, null, at),
    trialTaken: stay,
    trialRefused: stay,
  },
  wantsTrial: {
    healthy: forget,
    sign: ifSame(stay),
    start: stay,
    trialTaken: (proof) => ({ ...proof, phase: 'wantsAgain' }),
    trialRefused: giveUp,
  },
  wantsAgain: {
    healthy: forget,
    sign: ifSame((proof, _, { nowMs, gapProofMs }) => {
      if (proof.sign === 'standing') return { ...proof, phase: 'proven' };
      const rounds = proof.rounds + 1;
      const firstMs = proof.rounds === 0 ? nowMs : proof.firstMs;
      const isProven = rounds >= ROUNDS_OF_PROOF && nowMs - firstMs >= gapProofMs;
      return { ...proof, phase: isProven ? 'proven' : 'resting', rounds, firstMs, lastMs: nowMs };
    }),
    start: stay,
    trialTaken: stay,
    trialRefused: stay,
  },
  proven: { healthy: stay, sign: stay, start: stay, trialTaken: stay, trialRefused: stay },
};

/** Whether a fresh start can take the place of our offset; where offsets can be compared, only a reset goes back. */
function isFresher(since: string, ours: string, sign: GapSign | null): boolean {
  const order = compareStreamOffsets(since, ours);
  if (sign === 'lower') return order !== null && order < 0;
  return since !== ours && !(sign === 'standing' && order !== null && order < 0);
}

/** Whether there is anything against our offset: then an answer without events does not mean that there were none. */
export function isOffsetInDoubt({ phase, sign, rounds }: GapProof): boolean {
  return phase !== 'none' && sign !== 'standing' && !(phase === 'resting' && rounds === 0);
}

/** The evidence after one more answer. */
export function weighGap(proof: GapProof, input: GapInput, at: GapContext): GapProof {
  const cell = TABLE[proof.phase][input.kind] as (proof: GapProof, input: GapInput, at: GapContext) => GapProof;
  return cell(proof, input, at);
}

/**
 * The times of healed gaps with one more; those older than a day are dropped.
 *
 * @throws ConnectorError RETENTION_GAPS_REPEAT when two were healed within the day already: then something else is
 *   wrong, and going on would lose events day by day with nobody looking.
 */
export function healedOnceMore(healedAtMs: readonly number[], nowDateMs: number): readonly number[] {
  // A clock that was set back must not wipe out the memory, so the distance counts in both directions.
  const recent = healedAtMs.filter((healed) => Math.abs(nowDateMs - healed) < DAY_MS);
  if (recent.length < HEALED_GAPS_PER_DAY) return [...recent, nowDateMs];
  throw new ConnectorError(
    'RETENTION_GAPS_REPEAT',
    `The event stream has lost our offset again, after ${HEALED_GAPS_PER_DAY} gaps within a day that were healed by ` +
      'going on from its newest offset. The committed offset was kept.',
  );
}
