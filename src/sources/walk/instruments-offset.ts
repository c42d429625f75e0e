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
import { isProviderBehind } from '../stream/retention-gap.ts';
import { REMEMBERED_MS } from './census.ts';

/** Each row counts once, in one of the fields from `added` to `repeated`. */
export type WalkCounts = Readonly<MutableWalkCounts>;

export const NO_COUNTS = {
  pages: 0,
  rows: 0,
  added: 0,
  corrected: 0,
  unchanged: 0,
  /** Rows whose content is on the topic under another schema. */
  reEncoded: 0,
  touched: 0,
  /** Rows that differ from a recent event. They are not used, because the list may lag. */
  contradicting: 0,
  deadLetters: 0,
  /** Rows that another row of the walk replaces, and dead letters that were the last row of the previous page. */
  repeated: 0,
  /** Rows below the cursor, counted in addition. */
  belowCursor: 0,
  gone: 0,
};

export type MutableWalkCounts = Record<keyof typeof NO_COUNTS, number>;

/** Everything that must survive a restart: the offset in the stream and the progress of the walk. */
export interface InstrumentsOffset extends FollowerOffset {
  /** Pages do not change the date of this offset, because they say nothing about the stream. */
  readonly since: string;
  readonly walk: number;
  /** Epoch milliseconds, by the clock of `serverDate`. */
  readonly walkStartedAtMs: number;
  /** By our clock, so that a wrong date of the provider does not delay the next walk. */
  readonly walkStartedOwnMs: number;
  readonly walkPending: boolean;
  /** The minId of the next page; null before the first page and after the last page. */
  readonly walkCursor: string | null;
  /** A restart resumed the walk, so the walk cannot find the removed instruments. */
  readonly walkResumed: boolean;
  /** The newest request whose walk was begun, so that no request is served twice; null before the first request. */
  readonly walkRequest: string | null;
  readonly walkAllowShrink: number | null;
  /** Consecutive walks that were given up, because the list did not end. */
  readonly walksGivenUp: number;
  readonly walksWithoutDeletion: number;
  /** The last known lag of the list, longer than the margin; 0: no lag. After a lag, the next walk waits longer. */
  readonly listLagMs: number;
  /** True after a walk that saw the list lag: its rows were not all used, so the next walk begins early. */
  readonly walkLagged: boolean;
  /** Kafka's id of the filled instruments topic; null if unknown. */
  readonly topicId: string | null;
  readonly counts: WalkCounts;
}

const VERSION = 2;
/** The interval after a lag. Then the next census does not remember the events that this census remembers. */
const AFTER_LAG_MS = REMEMBERED_MS + 300_000;

/** True if the stream repeats events or has no events for us: only walks update the instruments. */
export function isStreamOld(offset: FollowerOffset): boolean {
  return offset.again !== null || isProviderBehind(offset);
}

export type WalkDemand = Pick<InstrumentsOffset, 'walkRequest' | 'walkAllowShrink'>;

export function beginWalk(
  offset: InstrumentsOffset,
  startedAt: Pick<ResponseTime, 'dateMs' | 'ownMs'>,
  demand: WalkDemand = offset,
): InstrumentsOffset {
  const { walkRequest, walkAllowShrink } = demand;
  return { ...offset, walkRequest, walkAllowShrink, ...freshWalk(offset.walk + 1, startedAt) };
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
 * Begins the first of two walks for a stream that was moved. Repeated events touch their instruments, so the first walk
 * can neither correct nor delete these instruments. The first walk counts as resumed, so a fresh walk follows.
 */
export function walkTwice(offset: InstrumentsOffset, startedAtMs: number): InstrumentsOffset {
  const { walkRequest } = offset;
  const startedAt = { dateMs: startedAtMs, ownMs: startedAtMs };
  return { ...beginWalk(offset, startedAt, { walkRequest, walkAllowShrink: null }), walkResumed: true };
}

/** The stream begins at the provider's present start. The first walk also serves a requested walk. */
export function firstOffset(
  filter: string,
  since: string,
  time: ResponseTime,
  walkRequest: string | null,
  topicId: string | null = null,
): InstrumentsOffset {
  return {
    ...offsetAtStart(filter, since, time),
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

/** Returns flat primitives. `intervalMs`: for commands, whose settings may differ; null if unknown. */
export function writeInstrumentsOffset(offset: InstrumentsOffset, intervalMs: number | null = null): SourceOffset {
  return {
    ...writeCommittedStream(offset, VERSION),
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
  return {
    // Version 1 never read the stream: its offset is as old as its walk.
    ...stream(raw.version === 1 ? 'walkStartedAt' : 'serverDate'),
    since: read('since', isText),
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

/**
 * The time between the starts of two walks. While the stream is old, only walks bring new states. After a lag, the next
 * walk begins when the events that contradicted the list are forgotten. It then uses the rows that this walk did not
 * use.
 */
export function walkIntervalMs(
  offset: InstrumentsOffset,
  settings: { readonly walkIntervalMs: number; readonly behindLimitMs: number },
): number {
  const { behindLimitMs } = settings;
  const mostMs = isStreamOld(offset) ? behindLimitMs : offset.walkLagged ? AFTER_LAG_MS : Number.POSITIVE_INFINITY;
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
