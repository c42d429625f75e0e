import type { AnswerTime } from './answer-time.ts';
import {
  type GapInput,
  type GapProof,
  type GapSign,
  isGapSuspected,
  isOffsetInDoubt,
  NO_PROOF,
  weighGap,
} from './retention-gap.ts';
import { hasMore, isNewestLower, readStreamAnswer, type StreamAnswer, type StreamReading } from './stream-answer.ts';

/** What a source that follows a stream remembers of it, from one start of its task to the next. Times are monotonic. */
export interface Stream {
  /** When our offset was last answered, however; null before the first answer. */
  readonly answeredMs: number | null;
  /** When an answer was last taken. */
  readonly takenMs: number | null;
  /** When it is to be asked next. */
  readonly dueMs: number;
  /** How many answers in a row were discarded or refused. */
  readonly discarded: number;
  /** Whether the newest answer was taken, and there was no more. */
  readonly caughtUp: boolean;
  readonly proof: GapProof;
}

/** What a committed offset says about its stream. */
export interface StreamPosition {
  readonly since: string;
  readonly serverDate: AnswerTime;
  /** When the stream had last answered before the gap that is suspected; null when none is. */
  readonly gapSuspectedFromMs: number | null;
}

/** What was answered to our offset: an answer, or a refusal. */
export type OffsetAnswer =
  | ({ readonly kind: 'events'; readonly time: AnswerTime } & StreamAnswer)
  | { readonly kind: 'refused'; readonly time: AnswerTime };

/** What the answer comes to. */
export interface StreamStep {
  readonly stream: Stream;
  /** The position afterwards; the old one when the answer was discarded or refused, but for the suspicion. */
  readonly position: StreamPosition;
  /** Whether the answer is taken: its events become records, its cursor ours. */
  readonly reading: Extract<StreamReading, 'moved' | 'quiet'> | null;
  readonly discarded: GapSign | null;
  /** A gap is suspected from this answer on. */
  readonly suspects: boolean;
}

const FIRST_REPEAT_MS = 1_000;

export function streamAtStart(nowMs: number): Stream {
  return { answeredMs: null, takenMs: null, dueMs: nowMs, discarded: 0, caughtUp: false, proof: NO_PROOF };
}

/** Reads one answer to our offset: whether it is taken, when to ask again, and what it says about a retention gap. */
export function followStream(
  stream: Stream,
  position: StreamPosition,
  answer: OffsetAnswer,
  at: {
    readonly nowMs: number;
    readonly pollIntervalMs: number;
    readonly gapProofMs: number;
    /** How many the answer holds. */
    readonly events: number;
  },
): StreamStep {
  const { nowMs } = at;
  const { since } = position;
  const reading = answer.kind === 'refused' ? 'refused' : readStreamAnswer(since, answer, at.events);
  const taken = reading === 'moved' || reading === 'quiet' ? reading : null;
  const silentMs = stream.takenMs === null ? null : nowMs - stream.takenMs;
  const committed = position.serverDate;
  const suspects =
    position.gapSuspectedFromMs === null && isGapSuspected({ silentMs, committed, answered: answer.time });
  // An offset that moves on is served: whatever was suspected, the provider still knows it.
  const suspectedFrom = suspects ? committed.dateMs : position.gapSuspectedFromMs;
  const gapSuspectedFromMs = reading === 'moved' ? null : suspectedFrom;
  const proof = weighGap(stream.proof, gapInput(reading, since, answer, gapSuspectedFromMs !== null), at);
  const discarded = taken === null ? stream.discarded + 1 : 0;
  const isAtEnd = answer.kind === 'events' && taken !== null && (taken === 'quiet' || !hasMore(answer));
  return {
    stream: {
      answeredMs: nowMs,
      takenMs: taken === null ? stream.takenMs : nowMs,
      dueMs: nowMs + pauseMs(reading, answer, discarded, at.pollIntervalMs),
      discarded,
      caughtUp: isAtEnd && !isOffsetInDoubt(proof),
      proof,
    },
    position:
      taken === null || answer.kind === 'refused'
        ? { ...position, gapSuspectedFromMs }
        : { since: answer.next, serverDate: answer.time, gapSuspectedFromMs },
    reading: taken,
    discarded: reading === 'moved' || reading === 'quiet' ? null : reading,
    suspects,
  };
}

function gapInput(
  reading: StreamReading | 'refused',
  since: string,
  answer: OffsetAnswer,
  isSuspected: boolean,
): GapInput {
  if (reading === 'moved') return { kind: 'healthy' };
  if (reading !== 'quiet') return { kind: 'sign', sign: reading };
  if (answer.kind === 'events' && isNewestLower(since, answer)) return { kind: 'sign', sign: 'lower' };
  return isSuspected ? { kind: 'sign', sign: 'quiet' } : { kind: 'healthy' };
}

/** At once while there is more; soon after an answer that was discarded, then ever later; else at the interval. */
function pauseMs(
  reading: StreamReading | 'refused',
  answer: OffsetAnswer,
  discarded: number,
  pollIntervalMs: number,
): number {
  if (discarded > 0) return Math.min(pollIntervalMs, FIRST_REPEAT_MS * 2 ** Math.min(discarded - 1, 30));
  return reading === 'moved' && answer.kind === 'events' && hasMore(answer) ? 0 : pollIntervalMs;
}
