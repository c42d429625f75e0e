import { type EndMark, isEndSeen, markFurther } from './end-mark.ts';
import { gapInput, namesLower } from './gap-input.ts';
import { type HeldOffset, heldForMs, holdOffset, proofBeside } from './held-offset.ts';
import { type LostTime, lostTime } from './lost-time.ts';
import { offsetAges, type ResponseTime } from './response-time.ts';
import {
  type GapInput,
  type GapProof,
  type GapSign,
  isExpired,
  isForRound,
  isGapSuspected,
  isOffsetInDoubt,
  NO_PROOF,
  RETENTION_MS,
  weighGap,
} from './retention-gap.ts';
import type { StreamContext } from './stream-context.ts';
import { compareStreamOffsets } from './stream-offset.ts';
import {
  hasReached,
  namesMore,
  readStreamResponse,
  type StreamReading,
  type StreamResponse,
} from './stream-response.ts';
import { pauseMs, runOn, type StreamRun } from './stream-run.ts';

/** What a source that follows a stream remembers of it, from one start of its task to the next. Times are monotonic. */
export interface Stream {
  /** When our offset was last answered, however; null before the first response. */
  readonly answeredMs: number | null;
  /** When a response was last taken. */
  readonly takenMs: number | null;
  /** When our offset was last known to be one that is served: it moved, or was a fresh start. Null before the first response. */
  readonly servedMs: number | null;
  /** The latest moment at which it can have been known so: by the clock that says least. Null before the first response. */
  readonly servedLatestMs: number | null;
  /** When the fresh offset came that is held beside ours; null where none is, or before the first response. */
  readonly heldFromMs: number | null;
  /** When it is to be asked next. */
  readonly dueMs: number;
  /** How many answers in a row were discarded or refused. */
  readonly discarded: number;
  /** Whether the newest response was taken, and showed the end of the stream; or, of one that never pauses, the list has lately. */
  readonly caughtUp: boolean;
  /** Whether this provider's newest offset is known to be that of the log: a response named one beyond its cursor. */
  readonly namesEnd: boolean;
  /** The responses since the stream was last seen to be at its end; null where it is, or where the newest was discarded. */
  readonly run: StreamRun | null;
  /** Where such answers end, as the list says; null where they name the end of the log themselves. */
  readonly mark: EndMark | null;
  readonly proof: GapProof;
  /** When a fresh start last did not lie before ours: for a while then, a lower offset in answers is no sign of a reset. */
  readonly noResetMs: number | null;
  /** The last offsets that were ours before this one. */
  readonly earlier: readonly string[];
}

/** What a committed offset says about its stream. */
export interface StreamPosition {
  readonly since: string;
  readonly serverDate: ResponseTime;
  /** For how long the offset had not moved by then, at most and at least. */
  readonly standingMs: number;
  readonly standingLeastMs: number;
  /** When the stream had last answered before the gap that is suspected; null when none is. */
  readonly gapSuspectedFromMs: number | null;
  /** Null where our offset moves, or has moved not long ago. */
  readonly held: HeldOffset | null;
}

/** What was answered to our offset: a response, or a refusal. */
export type OffsetResponse =
  | ({ readonly kind: 'events'; readonly time: ResponseTime } & StreamResponse)
  | { readonly kind: 'refused'; readonly time: ResponseTime };

/** What a response says against our offset, whether it was taken or not; one that merely does not move is none. */
export type DiscardSign = Exclude<GapSign, 'unmoved' | 'overtaken'>;

/** What the response comes to. */
export interface StreamStep {
  readonly stream: Stream;
  /** The position afterwards; the old one when the response was discarded or refused, but for the suspicion. */
  readonly position: StreamPosition;
  /** Whether the response is taken: its events become records, its cursor ours. */
  readonly reading: Extract<StreamReading, 'moved' | 'quiet'> | null;
  readonly discarded: DiscardSign | null;
  /** A gap is suspected from this answer on. */
  readonly suspects: boolean;
  /** What is lost for certain: it lay behind us for longer than the provider keeps events. Null when nothing is. */
  readonly lost: LostTime | null;
  /** How long ago our offset was known to be one that is served. */
  readonly ageMs: number;
  /**
   * Whether a fresh offset is held from now on, or replaces the committed one, which did not move. It is committed at once:
   * a task that restarts often would otherwise never commit it.
   */
  readonly renews: boolean;
}

/** After so long a fresh start is asked for again: the list may have lagged a reset. */
const NO_RESET_MS = 3_600_000;
/** A loop of more offsets than this is not seen. */
const EARLIER_KEPT = 1_000;

export function streamAtStart(nowMs: number): Stream {
  return {
    answeredMs: null,
    takenMs: null,
    servedMs: null,
    servedLatestMs: null,
    heldFromMs: null,
    dueMs: nowMs,
    discarded: 0,
    caughtUp: false,
    namesEnd: false,
    run: null,
    mark: null,
    proof: NO_PROOF,
    noResetMs: null,
    earlier: [],
  };
}

/** Reads one response to our offset: whether it is taken, when to ask again, and what it says about a retention gap. */
export function followStream(
  stream: Stream,
  position: StreamPosition,
  answer: OffsetResponse,
  at: StreamContext,
): StreamStep {
  const { nowMs } = at;
  const { since } = position;
  const reading = answer.kind === 'refused' ? 'refused' : readStreamResponse(since, answer, at.events, stream.earlier);
  const taken = reading === 'moved' || reading === 'quiet' ? reading : null;
  const { ages, suspects, gapSuspectedFromMs, isNoReset, isLower, sign, proof, holding } = weighAnswer(
    stream,
    position,
    { answer, reading },
    at,
  );
  const { held, begins } = holding;
  const replacement = proof.phase === 'proven' ? null : holding.replacement;
  // One that takes our place is as old as it was held.
  const servedAgoMs = reading === 'moved' ? 0 : (replacement?.heldMs ?? ages.ageMs);
  const servedLeastAgoMs = reading === 'moved' ? 0 : (replacement?.heldMs ?? ages.leastAgeMs);
  return {
    stream: {
      ...readOn(stream, answer, taken, { ...at, proof }),
      answeredMs: nowMs,
      takenMs: taken === null ? stream.takenMs : nowMs,
      servedMs: nowMs - servedAgoMs,
      servedLatestMs: nowMs - servedLeastAgoMs,
      heldFromMs: held === null ? null : nowMs - held.heldMs,
      proof,
      noResetMs: isNoReset && replacement === null && isLower ? stream.noResetMs : null,
      earlier: reading === 'moved' ? [...stream.earlier, since].slice(-EARLIER_KEPT) : stream.earlier,
    },
    position:
      taken === null || answer.kind === 'refused'
        ? { ...position, gapSuspectedFromMs }
        : {
            since: replacement?.since ?? answer.next,
            serverDate: answer.time,
            standingMs: servedAgoMs,
            standingLeastMs: servedLeastAgoMs,
            gapSuspectedFromMs,
            held,
          },
    reading: taken,
    discarded: sign === 'unmoved' || sign === 'overtaken' ? null : sign,
    suspects,
    lost: suspects || taken !== null ? lostTime(stream.takenMs, position.serverDate, answer.time, nowMs) : null,
    ageMs: ages.ageMs,
    renews: begins || replacement !== null,
  };
}

/** What a response says for and against our offset, and what that means for the one that is held beside it. */
function weighAnswer(
  stream: Stream,
  position: StreamPosition,
  { answer, reading }: { readonly answer: OffsetResponse; readonly reading: StreamReading | 'refused' },
  at: StreamContext,
) {
  const { nowMs } = at;
  const ages = offsetAges(stream, position, answer.time, nowMs);
  const suspects = position.gapSuspectedFromMs === null && isGapSuspected(ages.ageMs);
  const suspectedFrom = suspects ? position.serverDate.dateMs - position.standingMs : position.gapSuspectedFromMs;
  // An offset that moves on is served: the provider still knows it, so no gap is suspected.
  const gapSuspectedFromMs = reading === 'moved' ? null : suspectedFrom;
  const isSuspected = gapSuspectedFromMs !== null;
  const heldMs = heldForMs(position, stream.heldFromMs, { time: answer.time, nowMs });
  const isOver = isSuspected && (isExpired(ages.leastAgeMs) || at.rereadsAll === true);
  const isNoReset = stream.noResetMs !== null && nowMs - stream.noResetMs < NO_RESET_MS;
  const response = answer.kind === 'refused' ? null : answer;
  const isLower = namesLower(reading, position.since, response);
  const input = gapInput(reading, position, response, { isSuspected, isOver, ageMs: ages.ageMs, isNoReset });
  const weighed = weighGap(stream.proof, input, at);
  const sign = input.kind === 'sign' ? input.sign : null;
  const isNothing = sign === null || (sign === 'overtaken' && !isOffsetInDoubt(weighed));
  const answered = reading === 'moved' ? 'moved' : isNothing ? 'nothing' : 'doubt';
  const holding = holdOffset(position.held, weighed, answered, { ...at, heldMs });
  const proof = proofBeside(weighed, holding, { isSuspected, held: position.held, heldMs, nowMs });
  return { ages, suspects, gapSuspectedFromMs, isNoReset, isLower, sign, proof, holding };
}

/** Whether the stream is at its end, and when it is asked again. */
function readOn(
  stream: Stream,
  answer: OffsetResponse,
  taken: StreamStep['reading'],
  at: StreamContext & { readonly proof: GapProof },
): Pick<Stream, 'dueMs' | 'discarded' | 'caughtUp' | 'namesEnd' | 'run' | 'mark'> {
  const { nowMs, events } = at;
  const discarded = taken === null ? stream.discarded + 1 : 0;
  const goesOn = taken !== null && answer.kind === 'events' && namesMore(answer);
  // One that stays is no proof: some name the newest offset of the log only where they have nothing else to name.
  const namesEnd = stream.namesEnd || (goesOn && taken === 'moved');
  const isReached = answer.kind === 'events' && namesEnd && hasReached(answer, answer.nextId);
  const isAtEnd = taken === 'quiet' || (taken === 'moved' && isReached);
  const run = taken === null || isAtEnd ? null : runOn(stream.run, events, goesOn);
  const mark =
    run === null || namesEnd || answer.kind !== 'events' ? null : markFurther(stream.mark, answer.next, nowMs);
  return {
    dueMs: nowMs + Math.min(at.pollIntervalMs, pauseMs(discarded, run)),
    discarded,
    caughtUp: (isAtEnd || isEndSeen(mark, nowMs)) && !isOffsetInDoubt(at.proof),
    namesEnd,
    run,
    mark,
  };
}

/** The stream after a fresh start of it, beside our offset. Only one from after the sign says whether that is a reset. */
export function takeFreshStart(
  stream: Stream,
  proof: GapProof,
  input: Extract<GapInput, { kind: 'start' }>,
  nowMs: number,
): Stream {
  if (!isForRound(stream.proof, input)) return { ...stream, proof };
  const order = input.since === null ? null : compareStreamOffsets(input.since, input.ours);
  return { ...stream, proof, noResetMs: order !== null && order >= 0 ? nowMs : null };
}

/** Whether the newest response moved the cursor and did not show the end of the stream. */
export function isReadingOn({ run }: Stream): boolean {
  return run !== null;
}

/** Seconds until our offset expires, were the stream never answered again; negative after. `wallMs`: our own clock. */
export function secondsToRetentionCliff(
  { servedMs }: Stream,
  { serverDate, standingMs }: Pick<StreamPosition, 'serverDate' | 'standingMs'>,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): number {
  const ageMs = servedMs === null ? standingMs + wallMs - serverDate.ownMs : nowMs - servedMs;
  return (RETENTION_MS - ageMs) / 1000;
}
