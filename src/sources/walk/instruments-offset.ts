import type { SourceOffset } from '../../kafka/offset-store.ts';
import {
  type FollowerOffset,
  isCount,
  isDate,
  isoDate,
  isText,
  offsetAtStart,
  offsetFields,
  writeCommittedStream,
} from '../stream/committed-stream.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { isBefore } from '../stream/stream-response.ts';
import { REMEMBERED_MS } from './census.ts';

/** Each row counts once, in one of the fields from `added` to `repeated`. */
export type WalkCounts = Readonly<MutableWalkCounts>;

export const NO_COUNTS = {
  pages: 0,
  rows: 0,
  added: 0,
  corrected: 0,
  unchanged: 0,
  /** Rows whose content is already on the topic, but under another schema id. */
  reEncoded: 0,
  touched: 0,
  /** Rows that differ from a recent event. They are not used, because the list may lag. */
  contradicting: 0,
  deadLetters: 0,
  /** Rows that another row with the same id replaces, and dead letters that the previous page already had. */
  repeated: 0,
  /** Rows with an id below the requested `minId`. Each of these rows also counts in another field. */
  belowCursor: 0,
  gone: 0,
};

export type MutableWalkCounts = Record<keyof typeof NO_COUNTS, number>;

/** The committed offset of an instruments source: the offset in the stream, and the progress of the walk. */
export interface InstrumentsOffset extends FollowerOffset {
  /** The offset in the stream. Only a response of the stream changes `since` and the inherited `serverDate`; a page does not. */
  readonly since: string;
  /** The lowest offset since the first start or the last reset; null in offsets of releases before 0.3.5. */
  readonly streamStart: string | null;
  readonly walk: number;
  /** Epoch milliseconds, by the provider's clock if its response had a date, else by ours. */
  readonly walkStartedAtMs: number;
  /** Epoch milliseconds, by our clock, so that a wrong date of the provider does not delay the next walk. */
  readonly walkStartedOwnMs: number;
  readonly walkPending: boolean;
  /** The minId of the next page; null before the first page and after the last page. */
  readonly walkCursor: string | null;
  /** True: a restart interrupted the walk, so the walk cannot find the removed instruments. */
  readonly walkResumed: boolean;
  /** The id of the newest served walk request, so that no request is served twice; null before the first request. */
  readonly walkRequest: string | null;
  readonly walkAllowShrink: number | null;
  /** Consecutive walks that were given up, because the list did not end. */
  readonly walksGivenUp: number;
  readonly walksWithoutDeletion: number;
  /** The list's last known lag; 0: no lag. After a lag, the next walk waits longer. */
  readonly listLagMs: number;
  /** True if the list lagged in the newest walk. Some rows were not used, so the next walk begins early. */
  readonly walkLagged: boolean;
  /** Kafka's id of the topic to which the walks have written; null if unknown. */
  readonly topicId: string | null;
  readonly counts: WalkCounts;
}

const VERSION = 2;
/** The walk interval after a lag. Then the next census no longer remembers the events that contradicted the list. */
const AFTER_LAG_MS = REMEMBERED_MS + 300_000;

export type WalkDemand = Pick<InstrumentsOffset, 'walkRequest' | 'walkAllowShrink'>;

export function beginWalk(
  offset: InstrumentsOffset,
  startedAt: Pick<ResponseTime, 'dateMs' | 'ownMs'>,
  demand: WalkDemand = offset,
): InstrumentsOffset {
  const { walkRequest, walkAllowShrink } = demand;
  return { ...offset, walkRequest, walkAllowShrink, ...freshWalk(offset.walk + 1, startedAt) };
}

/**
 * Begins a walk in place of the pending walk, which has requested no page in this process. If no page is committed,
 * the new walk takes its number, so each number in the log ends.
 */
export function beginWalkInstead(
  offset: InstrumentsOffset,
  startedAt: Pick<ResponseTime, 'dateMs' | 'ownMs'>,
  demand: WalkDemand,
): InstrumentsOffset {
  const isBegun = !offset.walkPending || offset.counts.pages > 0;
  return beginWalk(isBegun ? offset : { ...offset, walk: offset.walk - 1 }, startedAt, demand);
}

function freshWalk(walk: number, { dateMs, ownMs }: Pick<ResponseTime, 'dateMs' | 'ownMs'>) {
  return {
    walk,
    walkStartedAtMs: dateMs,
    walkStartedOwnMs: ownMs,
    walkPending: true,
    walkCursor: null,
    walkResumed: false,
    walkLagged: false,
    counts: NO_COUNTS,
  };
}

/**
 * Begins a walk after an operator has changed the stream's offset. Repeated events touch their instruments, so this
 * walk cannot correct or delete them. The walk counts as resumed, so a second walk follows.
 */
export function walkTwice(
  offset: InstrumentsOffset,
  startedAt: Pick<ResponseTime, 'dateMs' | 'ownMs'>,
): InstrumentsOffset {
  const { walkRequest } = offset;
  return { ...beginWalkInstead(offset, startedAt, { walkRequest, walkAllowShrink: null }), walkResumed: true };
}

/** The offset of a new source. `since`: the offset that the list gave. The first walk also serves a walk request. */
export function firstOffset(
  filter: string,
  since: string,
  time: ResponseTime,
  walkRequest: string | null,
  topicId: string | null = null,
): InstrumentsOffset {
  return {
    ...offsetAtStart(filter, since, time),
    streamStart: since,
    ...freshWalk(1, time),
    walkRequest,
    walkAllowShrink: null,
    walksGivenUp: 0,
    walksWithoutDeletion: 0,
    listLagMs: 0,
    topicId,
  };
}

const COUNT_NAMES = Object.keys(NO_COUNTS) as readonly (keyof WalkCounts)[];

/** Returns a flat object of primitives. `intervalMs`: the walk interval, for commands; null if unknown. */
export function writeInstrumentsOffset(offset: InstrumentsOffset, intervalMs: number | null = null): SourceOffset {
  return {
    ...writeCommittedStream(offset, VERSION),
    streamStart: offset.streamStart,
    walk: offset.walk,
    walkStartedAt: isoDate(offset.walkStartedAtMs),
    walkStartedOwn: isoDate(offset.walkStartedOwnMs),
    walkPending: offset.walkPending,
    walkCursor: offset.walkCursor,
    walkResumed: offset.walkResumed,
    walkRequest: offset.walkRequest,
    walkAllowShrink: offset.walkAllowShrink,
    walksGivenUp: offset.walksGivenUp,
    walksWithoutDeletion: offset.walksWithoutDeletion,
    listLagMs: offset.listLagMs,
    walkLagged: offset.walkLagged,
    topicId: offset.topicId,
    ...(intervalMs === null ? {} : { walkIntervalMs: intervalMs }),
    ...Object.fromEntries(COUNT_NAMES.map((name) => [countKey(name), offset.counts[name]])),
  };
}

export function readInstrumentsOffset(raw: SourceOffset, source: string, filter: string): InstrumentsOffset {
  const { read, readOr, stream } = offsetFields(raw, { source, filter, versions: [1, VERSION] });
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, readOr(countKey(name), isCount, 0)]));
  const since = read('since', isText);
  return {
    // A source of version 1 did not read the stream, so its offset in the stream is as old as its walk.
    ...stream(raw.version === 1 ? 'walkStartedAt' : 'serverDate'),
    since,
    streamStart: lowestStart(readOr('streamStart', isText, null), since),
    walk: read('walk', isCount),
    walkStartedAtMs: Date.parse(read('walkStartedAt', isDate)),
    walkStartedOwnMs: Date.parse(readOr('walkStartedOwn', isDate, read('walkStartedAt', isDate))),
    walkPending: read('walkPending', isFlag),
    walkCursor: readOr('walkCursor', isCursor, null),
    walkResumed: readOr('walkResumed', isFlag, false),
    walkRequest: readOr('walkRequest', isText, null),
    walkAllowShrink: readOr('walkAllowShrink', isCount, null),
    walksGivenUp: readOr('walksGivenUp', isCount, 0),
    walksWithoutDeletion: readOr('walksWithoutDeletion', isCount, 0),
    listLagMs: readOr('listLagMs', isCount, 0),
    walkLagged: readOr('walkLagged', isFlag, false),
    topicId: readOr('topicId', isText, null),
    counts: { ...NO_COUNTS, ...counts },
  };
}

/** An operator or the provider can set the stream back, to offsets before the start. */
export function lowestStart(streamStart: string | null, since: string): string | null {
  return streamStart !== null && isBefore(since, streamStart) ? since : streamStart;
}

/**
 * Returns the time between the starts of two walks. While the stream repeats events, only walks bring new states, so
 * `behindLimit` is the longest interval. After a lag, the next walk begins when the census no longer
 * remembers the events that contradicted the list. Then the rows that this walk did not use can be used.
 */
export function walkIntervalMs(
  offset: InstrumentsOffset,
  settings: { readonly walkIntervalMs: number; readonly behindLimitMs: number },
): number {
  const { behindLimitMs } = settings;
  const mostMs = offset.again !== null ? behindLimitMs : offset.walkLagged ? AFTER_LAG_MS : Number.POSITIVE_INFINITY;
  return Math.min(settings.walkIntervalMs, mostMs);
}

/** Null in offsets of earlier versions. */
export function committedWalkIntervalMs({ walkIntervalMs: committed = null }: SourceOffset): number | null {
  return isCount(committed) ? committed : null;
}

function countKey(name: string): string {
  return `walk${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isCursor(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value);
}
