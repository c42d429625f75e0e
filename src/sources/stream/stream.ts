import type { CommittedStream } from './committed-stream.ts';
import { type EndMark, isEndSeen, markFurther } from './end-mark.ts';
import { offsetAges, type ResponseTime, timeBetween } from './response-time.ts';
import {
  type AdoptedOffset,
  type Doubt,
  type GapContext,
  type GapSign,
  type HeldOffset,
  isForRound,
  isGapSuspected,
  isOffsetInDoubt,
  isProviderBehind,
  NO_DOUBT,
  namesLower,
  RETENTION_MS,
  signAgainst,
  weighSign,
  weighStart,
} from './retention-gap.ts';
import {
  compareStreamOffsets,
  hasReached,
  isBefore,
  namesMore,
  readStreamResponse,
  type StreamReading,
  type StreamResponse,
} from './stream-response.ts';

/**
 * The state of a task that reads a stream. A restart loses this state. Times are monotonic. The beginning of
 * retention-gap.ts explains sign, round and held offset. `offsetAges` (response-time.ts) explains confirmation.
 */
export interface Stream {
  readonly answeredMs: number | null;
  readonly takenMs: number | null;
  /** The earliest possible time of the provider's last confirmation of our offset; null before the first response. */
  readonly servedMs: number | null;
  /** The latest possible time of this confirmation. */
  readonly servedLatestMs: number | null;
  readonly heldFromMs: number | null;
  readonly dueMs: number;
  readonly discarded: number;
  /** True if the newest response, or recently the list, showed the end of the stream. */
  readonly caughtUp: boolean;
  /** True if a response named a newest offset after its cursor: this provider names the end of the log. */
  readonly namesEnd: boolean;
  /** The responses after the last one that showed the stream's end; null at the end, and after a discarded response. */
  readonly run: StreamRun | null;
  /** The search for the stream's end by means of the list; null at the end, or if responses name the end. */
  readonly mark: EndMark | null;
  readonly doubt: Doubt;
  /** When the newest fresh start (the offset that a new source would get) arrived; null if it was lower than our offset. */
  readonly noResetMs: number | null;
  /** Our previous offsets, the newest at the end. */
  readonly earlier: readonly string[];
}

/** The part of the committed offset that a response changes. */
export interface StreamPosition
  extends Pick<CommittedStream, 'serverDate' | 'standingMs' | 'standingLeastMs' | 'gapSuspectedFromMs' | 'held'> {
  readonly since: string;
}

/** `items`: the number of events or pre-trade checks, dead letters included. `refused`: `refusesOffset(status)`. */
export type OffsetResponse =
  | ({ readonly kind: 'stream'; readonly items: number; readonly time: ResponseTime } & StreamResponse)
  | { readonly kind: 'refused'; readonly status: number; readonly time: ResponseTime };

export type DiscardSign = Exclude<GapSign, 'unmoved'>;

/** A period whose events the provider no longer keeps, in milliseconds since the epoch. */
export interface LostTime {
  readonly fromMs: number;
  readonly toMs: number;
  readonly silentMs: number;
}

export interface StreamStep {
  readonly stream: Stream;
  /** If the response is not used, only the suspicion and the held offset may change. */
  readonly position: StreamPosition;
  /** Null if the response is not used. */
  readonly reading: Extract<StreamReading, 'moved' | 'quiet'> | null;
  readonly discarded: DiscardSign | null;
  readonly suspects: boolean;
  /** The period of certainly lost events; null if no events are certainly lost. */
  readonly lost: LostTime | null;
  readonly ageMs: number;
  readonly adopted: AdoptedOffset | null;
  /** A newly held or adopted offset is committed at once, so that frequent restarts do not lose the offset. */
  readonly renews: boolean;
}

export interface StreamContext extends GapContext {
  readonly pollIntervalMs: number;
  /** `withoutOffset`: a suspected gap counts as an expired offset, because the source can read everything again. */
  readonly begins: 'atGivenStart' | 'withoutOffset';
}

/** A fresh start counts for this time only. It comes from the list, and the list may lag behind a reset of the stream. */
const NO_RESET_MS = 3_600_000;
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
    doubt: NO_DOUBT,
    noResetMs: null,
    earlier: [],
  };
}

export function followStream(
  stream: Stream,
  position: StreamPosition,
  answer: OffsetResponse,
  at: StreamContext,
): StreamStep {
  const { nowMs } = at;
  const { since, gapSuspectedFromMs: suspectedFromMs } = position;
  const reading =
    answer.kind === 'refused' ? 'refused' : readStreamResponse(since, answer, answer.items, stream.earlier);
  const ages = offsetAges(stream, position, answer.time, nowMs);
  const isOld = suspectedFromMs === null && isGapSuspected(ages.ageMs);
  const isSuspected = isOld || suspectedFromMs !== null;
  const isOver = isSuspected && (ages.leastAgeMs > RETENTION_MS || at.begins === 'withoutOffset');
  const isNoReset = stream.noResetMs !== null && nowMs - stream.noResetMs < NO_RESET_MS;
  const response = answer.kind === 'refused' ? null : answer;
  const sign = signAgainst(reading, position, response, { isSuspected, isOver, ageMs: ages.ageMs, isNoReset });
  const earlierHeld = heldUntil(stream, position, answer.time, at);
  const weighed = weighSign(stream.doubt, sign, { since, held: earlierHeld }, { ...at, isSuspected });
  const isLower = isNoReset && namesLower(reading, since, response);
  const { held, adopted, isRound } = weighed;
  // An empty response causes no suspicion before a round is complete: if the round's fresh start equals ours, no gap exists.
  const isOpen = isOld && reading === 'quiet' && !isRound && adopted === null;
  const taken = (reading === 'moved' || reading === 'quiet') && !isOpen ? reading : null;
  const suspects = isOld && !isOpen;
  // If our offset moves on, the provider serves this offset, so no gap is suspected.
  const gapSuspectedFromMs =
    reading === 'moved' ? null : suspects ? position.serverDate.dateMs - position.standingMs : suspectedFromMs;
  const servedAgoMs = reading === 'moved' ? 0 : (adopted?.heldMs ?? ages.ageMs);
  const servedLeastAgoMs = reading === 'moved' ? 0 : (adopted?.heldMs ?? ages.leastAgeMs);
  const read: Stream = {
    ...stream,
    ...readOn(stream, answer, taken, { ...at, isUnsure: isOffsetInDoubt(weighed.doubt) || behind(since, held) }),
    answeredMs: nowMs,
    takenMs: taken === null ? stream.takenMs : nowMs,
    servedMs: nowMs - servedAgoMs,
    servedLatestMs: nowMs - servedLeastAgoMs,
    heldFromMs: held === null ? null : nowMs - held.heldMs,
    doubt: weighed.doubt,
    noResetMs: isLower ? stream.noResetMs : null,
    earlier: reading === 'moved' ? [...stream.earlier, since].slice(-EARLIER_KEPT) : stream.earlier,
  };
  const moved = taken !== null && answer.kind === 'stream' ? answer.next : null;
  const times = { serverDate: answer.time, standingMs: servedAgoMs, standingLeastMs: servedLeastAgoMs };
  return {
    stream: adopted === null ? read : { ...read, ...FRESH, dueMs: nowMs, takenMs: nowMs },
    position:
      adopted !== null
        ? { since: adopted.since, ...times, gapSuspectedFromMs: null, held: null }
        : moved !== null
          ? { since: moved, ...times, gapSuspectedFromMs, held }
          : { ...position, gapSuspectedFromMs, held },
    reading: taken,
    discarded: isOpen ? 'quiet' : sign === 'unmoved' ? null : sign,
    suspects,
    lost: suspects || taken !== null ? lostTime(stream.takenMs, position.serverDate, answer.time, nowMs) : null,
    ageMs: ages.ageMs,
    adopted,
    renews: adopted !== null || (held !== null && held.since !== position.held?.since),
  };
}

const FRESH = { noResetMs: null, discarded: 0, earlier: [], caughtUp: false } as const;

const behind = (since: string, held: HeldOffset | null) => isProviderBehind({ since, held });

/**
 * Returns the held offset with its holding time. A restart adds the absence to this time; the clock that shows less
 * counts. If the held offset is lower than ours, a restart adds nothing; an absence of `offsetHold` or longer drops it.
 */
function heldUntil(
  { heldFromMs }: Stream,
  { since, held, serverDate }: StreamPosition,
  time: ResponseTime,
  { nowMs, offsetHoldMs }: StreamContext,
): HeldOffset | null {
  if (held === null) return null;
  if (heldFromMs !== null) return { ...held, heldMs: Math.round(nowMs - heldFromMs) };
  const { leastMs, mostMs } = timeBetween(serverDate, time);
  if (behind(since, held)) return mostMs < offsetHoldMs ? held : null;
  return { ...held, heldMs: Math.round(held.heldMs + leastMs) };
}

function lostTime(
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

function readOn(
  stream: Stream,
  answer: OffsetResponse,
  taken: StreamStep['reading'],
  at: StreamContext & { readonly isUnsure: boolean },
): Pick<Stream, 'dueMs' | 'discarded' | 'caughtUp' | 'namesEnd' | 'run' | 'mark'> {
  const { nowMs } = at;
  const items = answer.kind === 'refused' ? 0 : answer.items;
  const discarded = taken === null ? stream.discarded + 1 : 0;
  const goesOn = taken !== null && answer.kind === 'stream' && namesMore(answer);
  // A quiet response does not set `namesEnd`: some providers name the log's newest offset only in quiet responses.
  const namesEnd = stream.namesEnd || (goesOn && taken === 'moved');
  const isReached = answer.kind === 'stream' && namesEnd && hasReached(answer, answer.nextId);
  const isAtEnd = taken === 'quiet' || (taken === 'moved' && isReached);
  const run = taken === null || isAtEnd ? null : runOn(stream.run, items, goesOn);
  const mark =
    run === null || namesEnd || answer.kind !== 'stream' ? null : markFurther(stream.mark, answer.next, nowMs);
  return {
    dueMs: nowMs + Math.min(at.pollIntervalMs, pauseMs(discarded, run)),
    discarded,
    caughtUp: (isAtEnd || isEndSeen(mark, nowMs)) && !at.isUnsure,
    namesEnd,
    run,
    mark,
  };
}

/** `since`: null if the start cannot replace our offset. */
export interface FreshStart {
  readonly since: string | null;
  readonly askedMs: number;
}

/** Ignores a start requested before the sign. A start that is not lower than ours ends the hold of a lower offset. */
export function takeFreshStart<Offset extends { readonly held: HeldOffset | null }>(
  stream: Stream,
  offset: Offset,
  { ours, start }: { readonly ours: string; readonly start: FreshStart },
  nowMs: number,
): { readonly stream: Stream; readonly offset: Offset } {
  if (!isForRound(stream.doubt, start.askedMs)) return { stream, offset };
  const order = start.since === null ? null : compareStreamOffsets(start.since, ours);
  const isNoReset = order !== null && order >= 0;
  const isOver = isNoReset && offset.held !== null && isBefore(offset.held.since, ours);
  return {
    stream: {
      ...stream,
      doubt: weighStart(stream.doubt, start.since, ours, nowMs),
      noResetMs: isNoReset ? nowMs : null,
      heldFromMs: isOver ? null : stream.heldFromMs,
    },
    offset: isOver ? { ...offset, held: null } : offset,
  };
}

export function isReadingOn({ run }: Stream): boolean {
  return run !== null;
}

/** Returns the time until our offset expires; negative after the expiry. `wallMs`: used before the first response. */
export function secondsToRetentionCliff(
  { servedMs }: Pick<Stream, 'servedMs'>,
  { serverDate, standingMs }: { readonly serverDate: { readonly ownMs: number }; readonly standingMs: number },
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): number {
  const ageMs = servedMs === null ? standingMs + wallMs - serverDate.ownMs : nowMs - servedMs;
  return (RETENTION_MS - ageMs) / 1000;
}

/** Consecutive responses that moved the cursor and did not show the stream's end. */
interface StreamRun {
  /** The number of events in the largest response. */
  readonly most: number;
  /** The number of consecutive small responses, up to the newest response. */
  readonly small: number;
}

const FIRST_REPEAT_MS = 1_000;
/** The first pause and the longest pause between small responses. */
const FIRST_READ_ON_MS = 50;
const LONGEST_READ_ON_MS = 1_000;

/** `goesOn`: the response says that more events follow. */
function runOn(run: StreamRun | null, events: number, goesOn: boolean): StreamRun {
  const { most, small } = run ?? { most: 0, small: 0 };
  const isSmall = !goesOn && (events === 0 || events < most / 2);
  return { most: Math.max(most, events), small: isSmall ? small + 1 : 0 };
}

/** A backlog is read without pauses. Small responses probably have the newest events, so the pauses grow. */
function pauseMs(discarded: number, run: StreamRun | null): number {
  if (discarded > 0) return FIRST_REPEAT_MS * 2 ** Math.min(discarded - 1, 30);
  if (run === null) return Number.POSITIVE_INFINITY;
  return run.small === 0 ? 0 : Math.min(LONGEST_READ_ON_MS, FIRST_READ_ON_MS * 2 ** Math.min(run.small - 1, 30));
}
