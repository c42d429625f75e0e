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

/** Each row is counted once, as one of added to repeated. */
export interface WalkCounts {
  readonly pages: number;
  readonly rows: number;
  /** Rows that the topic did not hold. */
  readonly added: number;
  /** Rows that the topic held with other content. */
  readonly corrected: number;
  readonly unchanged: number;
  /** Rows with the content that the topic held under another schema. */
  readonly reEncoded: number;
  /** Rows that an event since the walk's beginning had overtaken. */
  readonly touched: number;
  /** Rows that differ from what an event said within the hour before the walk: not used, the list may lag. */
  readonly contradicting: number;
  readonly deadLetters: number;
  /** Rows that a later row of the same page replaced, and dead ones that ended the page before. */
  readonly repeated: number;
  /** Rows with an id below the cursor of their page; counted besides. */
  readonly belowCursor: number;
  /** Tombstones. */
  readonly gone: number;
}

export const NO_COUNTS: WalkCounts = {
  pages: 0,
  rows: 0,
  added: 0,
  corrected: 0,
  unchanged: 0,
  reEncoded: 0,
  touched: 0,
  contradicting: 0,
  deadLetters: 0,
  repeated: 0,
  belowCursor: 0,
  gone: 0,
};

export type MutableWalkCounts = { -readonly [Name in keyof WalkCounts]: number };

/**
 * The committed offset of an instruments source: its place in the stream and the progress of its walk. Whatever must
 * survive a restart is here; what the source does next follows from it and the provider's next responses.
 */
export interface InstrumentsOffset extends FollowerOffset {
  /** Our offset in the event stream. Pages do not count for its date: they say nothing about the stream. */
  readonly since: string;
  /** The number of the newest walk, from 1. */
  readonly walk: number;
  /** When that walk began, by the same clock. */
  readonly walkStartedAtMs: number;
  /** The same moment by our own clock: a wrong date of the provider must not put off the next walk. */
  readonly walkStartedOwnMs: number;
  readonly walkPending: boolean;
  /** The minId of the walk's next page; null before its first page is committed, and after its last. */
  readonly walkCursor: string | null;
  /** The pending walk has read the list to its end: only the sweep is left. */
  readonly walkListed: boolean;
  /** A restart resumed it: it cannot decide what is gone. */
  readonly walkResumed: boolean;
  /** The newest walk on demand that was begun; the same request is never served twice. */
  readonly walkRequest: string | null;
  /** How many deletions the operator has allowed for the pending walk. */
  readonly walkAllowShrink: number | null;
  /** How many walks in a row were given up, since the list did not come to an end. */
  readonly walksGivenUp: number;
  /** How many walks in a row could not decide what is gone. */
  readonly walksWithoutDeletion: number;
  /** By how much the list was last seen to lag beyond the margin; 0 for not at all. The next walk waits longer. */
  readonly listLagMs: number;
  /** Kafka's id of the instruments topic that our walks have filled; null where it was never known. */
  readonly topicId: string | null;
  readonly counts: WalkCounts;
}

const VERSION = 2;

/** The stream repeats events or has none: walks alone keep the instruments. */
export function isStreamOld(offset: FollowerOffset): boolean {
  return offset.again !== null || isProviderBehind(offset);
}

/** The walk on demand that a new walk serves, and what it may delete. */
export type WalkDemand = Pick<InstrumentsOffset, 'walkRequest' | 'walkAllowShrink'>;

/** The offset with a fresh walk pending, which replaces any walk under way. */
export function beginWalk(
  offset: InstrumentsOffset,
  startedAt: Pick<ResponseTime, 'dateMs' | 'ownMs'>,
  demand: WalkDemand,
): InstrumentsOffset {
  return {
    ...offset,
    ...demand,
    walk: offset.walk + 1,
    walkStartedAtMs: startedAt.dateMs,
    walkStartedOwnMs: startedAt.ownMs,
    walkPending: true,
    walkCursor: null,
    walkListed: false,
    walkResumed: false,
    counts: NO_COUNTS,
  };
}

/**
 * The offset with two walks pending, for one whose stream was moved to another place. Instruments that events name again
 * meanwhile are touched, so that a walk which begins before them can neither correct nor delete them: the first one counts as
 * resumed, and is followed by a fresh one, which can.
 */
export function walkTwice(offset: InstrumentsOffset, startedAtMs: number): InstrumentsOffset {
  const { walkRequest } = offset;
  const startedAt = { dateMs: startedAtMs, ownMs: startedAtMs };
  return { ...beginWalk(offset, startedAt, { walkRequest, walkAllowShrink: null }), walkResumed: true };
}

/**
 * The first offset of a source: its stream starts where the provider's does now, and its first walk is pending, which
 * serves a walk on demand that waits.
 */
export function firstOffset(
  filter: string,
  since: string,
  time: ResponseTime,
  walkRequest: string | null,
  topicId: string | null = null,
): InstrumentsOffset {
  const nothing: InstrumentsOffset = {
    ...offsetAtStart(filter, since, time),
    walk: 0,
    walkStartedAtMs: time.dateMs,
    walkStartedOwnMs: time.ownMs,
    walkPending: false,
    walkCursor: null,
    walkListed: false,
    walkResumed: false,
    walkRequest: null,
    walkAllowShrink: null,
    walksGivenUp: 0,
    walksWithoutDeletion: 0,
    listLagMs: 0,
    topicId,
    counts: NO_COUNTS,
  };
  return beginWalk(nothing, time, { walkRequest, walkAllowShrink: null });
}

const COUNT_NAMES = Object.keys(NO_COUNTS) as readonly (keyof WalkCounts)[];

/**
 * The offset as a flat map of primitives, the form of Kafka Connect's offsets topic. `walkIntervalMs`: as the source that
 * commits it walks; commands read it there, since the settings beside them may be others. Null where it is not known.
 */
export function writeInstrumentsOffset(offset: InstrumentsOffset, walkIntervalMs: number | null = null): SourceOffset {
  return {
    ...writeCommittedStream(offset, VERSION),
    walk: offset.walk,
    walkStartedAt: isoDate(offset.walkStartedAtMs),
    walkStartedOwn: isoDate(offset.walkStartedOwnMs),
    walkPending: offset.walkPending,
    walkCursor: offset.walkCursor,
    walkListed: offset.walkListed,
    walkResumed: offset.walkResumed,
    walkRequest: offset.walkRequest,
    walkAllowShrink: offset.walkAllowShrink,
    walksGivenUp: offset.walksGivenUp,
    walksWithoutDeletion: offset.walksWithoutDeletion,
    listLagMs: offset.listLagMs,
    topicId: offset.topicId,
    ...(walkIntervalMs === null ? {} : { walkIntervalMs }),
    ...Object.fromEntries(COUNT_NAMES.map((name) => [countKey(name), offset.counts[name]])),
  };
}

/** Throws as `offsetFields` does. */
export function readInstrumentsOffset(raw: SourceOffset, source: string, filter: string): InstrumentsOffset {
  const { read, readOr, stream } = offsetFields(raw, { source, filter, versions: [1, VERSION] });
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, readOr(countKey(name), isCount, 0)]));
  return {
    // Version 1 never read the stream: its offset is as old as its walk.
    ...stream(raw.version === 1 ? 'walkStartedAt' : 'serverDate'),
    since: read('since', isText),
    walk: read('walk', isCount),
    walkStartedAtMs: Date.parse(read('walkStartedAt', isDate)),
    // Offsets from before our own clock was kept are read as if both had agreed.
    walkStartedOwnMs: Date.parse(readOr('walkStartedOwn', isDate, read('walkStartedAt', isDate))),
    walkPending: read('walkPending', isFlag),
    walkCursor: readOr('walkCursor', isCursor, null),
    walkListed: readOr('walkListed', isFlag, false),
    walkResumed: readOr('walkResumed', isFlag, false),
    walkRequest: readOr('walkRequest', isText, null),
    walkAllowShrink: readOr('walkAllowShrink', isCount, null),
    walksGivenUp: readOr('walksGivenUp', isCount, 0),
    walksWithoutDeletion: readOr('walksWithoutDeletion', isCount, 0),
    listLagMs: readOr('listLagMs', isCount, 0),
    topicId: readOr('topicId', isText, null),
    counts: { ...NO_COUNTS, ...counts },
  };
}

/** The interval of the source that committed this offset; null in those of earlier versions. */
export function committedWalkIntervalMs({ walkIntervalMs = null }: SourceOffset): number | null {
  return isCount(walkIntervalMs) ? walkIntervalMs : null;
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
