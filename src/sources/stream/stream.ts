import { type EndMark, isEndSeen, markFurther } from './end-mark.ts';
import { offsetAges, type ResponseTime, timeBetween } from './response-time.ts';
import {
  type AdoptedOffset,
  type Doubt,
  type GapContext,
  type GapSign,
  type HeldOffset,
  isBefore,
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
  namesMore,
  readStreamResponse,
  type StreamReading,
  type StreamResponse,
} from './stream-response.ts';

/** The memory of one task. Times are monotonic. */
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
  /** The newest response was the end of the stream, or the list has lately shown it. */
  readonly caughtUp: boolean;
  /** This provider names the newest offset of the log: one response named one beyond its cursor. */
  readonly namesEnd: boolean;
  /** The responses since the stream was last seen to be at its end; null where it is, or where the newest was discarded. */
  readonly run: StreamRun | null;
  /** Where such answers end, as the list says; null where they name the end of the log themselves. */
  readonly mark: EndMark | null;
  readonly doubt: Doubt;
  /** When a fresh start last did not lie before ours: for a while then, a lower offset in answers is no sign of a reset. */
  readonly noResetMs: number | null;
  /** The last offsets that were ours before this one. */
  readonly earlier: readonly string[];
}

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

export type OffsetResponse =
  | ({ readonly kind: 'events'; readonly time: ResponseTime } & StreamResponse)
  | { readonly kind: 'refused'; readonly time: ResponseTime };

/** A response that merely does not move is no sign. */
export type DiscardSign = Exclude<GapSign, 'unmoved'>;

/** A time whose events can no longer be had, in milliseconds since the epoch. */
export interface LostTime {
  readonly fromMs: number;
  readonly toMs: number;
  /** How long the stream had not been read. */
  readonly silentMs: number;
}

export interface StreamStep {
  readonly stream: Stream;
  /** The position afterwards; the old one when the response was discarded or refused, but for what is suspected and held. */
  readonly position: StreamPosition;
  /** Not null: its events become records, and its cursor ours. */
  readonly reading: Extract<StreamReading, 'moved' | 'quiet'> | null;
  readonly discarded: DiscardSign | null;
  /** A gap is suspected from this answer on. */
  readonly suspects: boolean;
  /** Lost for certain: it lay behind us for longer than the provider keeps events. Null for nothing. */
  readonly lost: LostTime | null;
  /** How long ago our offset was known to be one that is served. */
  readonly ageMs: number;
  /** The offset that has replaced the committed one. */
  readonly adopted: AdoptedOffset | null;
  /**
   * An offset is held from now on, or has replaced the committed one. It is committed at once: a task that restarts
   * often would otherwise never commit it.
   */
  readonly renews: boolean;
}

export interface StreamContext extends GapContext {
  readonly pollIntervalMs: number;
  /** A proven gap continues with all that is still served: a suspicion is enough for a proof. */
  readonly rereadsAll?: boolean;
  /** How many events the response holds. */
  readonly events: number;
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
    doubt: NO_DOUBT,
    noResetMs: null,
    earlier: [],
  };
}

/** Reads one response to our offset: whether it is taken, when to ask again, and whether another offset takes its place. */
export function followStream(
  stream: Stream,
  position: StreamPosition,
  answer: OffsetResponse,
  at: StreamContext,
): StreamStep {
  const { nowMs } = at;
  const { since, gapSuspectedFromMs: suspectedFromMs } = position;
  const reading = answer.kind === 'refused' ? 'refused' : readStreamResponse(since, answer, at.events, stream.earlier);
  const ages = offsetAges(stream, position, answer.time, nowMs);
  const isOld = suspectedFromMs === null && isGapSuspected(ages.ageMs);
  const { sign, weighed, isLower } = weighAnswer(stream, position, { answer, reading, ages, isOld }, at);
  const { held, adopted, isRound } = weighed;
  // An empty response says nothing: a fresh start that is our offset shows that nothing is lost.
  const isOpen = isOld && reading === 'quiet' && !isRound && adopted === null;
  const taken = (reading === 'moved' || reading === 'quiet') && !isOpen ? reading : null;
  const suspects = isOld && !isOpen;
  // An offset that moves on is served: the provider still knows it, so no gap is suspected.
  const gapSuspectedFromMs =
    reading === 'moved' ? null : suspects ? position.serverDate.dateMs - position.standingMs : suspectedFromMs;
  // One that takes our place is as old as it was held.
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
  const moved = taken !== null && answer.kind === 'events' ? answer.next : null;
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

/** Of a stream that goes on from another offset. */
const FRESH = { noResetMs: null, discarded: 0, earlier: [], caughtUp: false } as const;

const behind = (since: string, held: HeldOffset | null) => isProviderBehind({ since, held });

function weighAnswer(
  stream: Stream,
  position: StreamPosition,
  given: {
    readonly answer: OffsetResponse;
    readonly reading: StreamReading | 'refused';
    readonly ages: ReturnType<typeof offsetAges>;
    readonly isOld: boolean;
  },
  at: StreamContext,
) {
  const { nowMs } = at;
  const { answer, reading, ages, isOld } = given;
  const isSuspected = isOld || position.gapSuspectedFromMs !== null;
  const isOver = isSuspected && (ages.leastAgeMs > RETENTION_MS || at.rereadsAll === true);
  const isNoReset = stream.noResetMs !== null && nowMs - stream.noResetMs < NO_RESET_MS;
  const response = answer.kind === 'refused' ? null : answer;
  const sign = signAgainst(reading, position, response, { isSuspected, isOver, ageMs: ages.ageMs, isNoReset });
  const held = heldUntil(stream, position, answer.time, at);
  const weighed = weighSign(stream.doubt, sign, { since: position.since, held }, { ...at, isSuspected });
  return { sign, weighed, isLower: isNoReset && namesLower(reading, position.since, response) };
}

/**
 * The held offset, with its time. Across a restart as little as either clock says: one that takes our place too early loses
 * events. One that lies before ours is held only while we look, since our last taken response came before it; after a long
 * time in which we did not, another one is asked for.
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

/**
 * The time that no provider can serve any more; null for none. Silence is counted as little as either clock says: a wrong date
 * alone makes nothing certain. Whether the provider serves the rest, and with what it answers an offset that has expired,
 * changes nothing of this part. `takenMs`: when a response was last taken, by the monotonic clock; null for not yet.
 */
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
    caughtUp: (isAtEnd || isEndSeen(mark, nowMs)) && !at.isUnsure,
    namesEnd,
    run,
    mark,
  };
}

/** A fresh start of the stream, or what its proof takes for one: null where it cannot take the place of our offset. */
export interface FreshStart {
  readonly since: string | null;
  readonly askedMs: number;
}

/**
 * The stream and what is held after a fresh start of it, which may be our offset. Only one from after the sign says whether
 * the stream was reset; one that does not lie before ours ends that the provider is behind.
 */
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

/** The newest response moved the cursor and did not show the end of the stream. */
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

/** Answers in a row that moved the cursor, none of which showed the end of the stream. */
interface StreamRun {
  /** The most events that one of them held. */
  readonly most: number;
  /** How many in a row now held few beside that. */
  readonly small: number;
}

const FIRST_REPEAT_MS = 1_000;

/** The pauses between small answers that may go on: the first, and the longest. */
const FIRST_READ_ON_MS = 50;

const LONGEST_READ_ON_MS = 1_000;

/** One more answer that moved the cursor and did not show the end; `goesOn`: it says that there is more. */
function runOn(run: StreamRun | null, events: number, goesOn: boolean): StreamRun {
  const { most, small } = run ?? { most: 0, small: 0 };
  const isSmall = !goesOn && (events === 0 || events < most / 2);
  return { most: Math.max(most, events), small: isSmall ? small + 1 : 0 };
}

/**
 * Soon after an answer that was discarded, then ever later; at the interval where the stream is at its end. Else at once:
 * a backlog comes in answers of one size, whatever that is. Answers that are small beside those before are most likely
 * the newest events as they happen, which may go on without end: so they are read on, with pauses that grow.
 */
function pauseMs(discarded: number, run: StreamRun | null): number {
  if (discarded > 0) return FIRST_REPEAT_MS * 2 ** Math.min(discarded - 1, 30);
  if (run === null) return Number.POSITIVE_INFINITY;
  return run.small === 0 ? 0 : Math.min(LONGEST_READ_ON_MS, FIRST_READ_ON_MS * 2 ** Math.min(run.small - 1, 30));
}
