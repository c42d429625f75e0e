import { ConnectorError } from '../../errors.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import type { AnswerTime } from './answer-time.ts';
import { NO_COUNTS, type WalkCounts } from './walk-counts.ts';

/**
 * The committed offset of an instruments source: where it is in the stream and where its walk stands. Whatever must
 * survive a restart is here; what the source does next follows from it and the provider's next answers.
 */
export interface InstrumentsOffset {
  /** The filter that all of this belongs to; another one makes the offset meaningless. */
  readonly filter: string;
  /** Our offset in the event stream. */
  readonly since: string;
  /** When the stream last answered us. Pages do not count: they say nothing about the stream. */
  readonly serverDate: AnswerTime;
  /** How long our offset had stood still then. */
  readonly standingMs: number;
  /** The number of the newest walk, from 1. */
  readonly walk: number;
  /** When that walk began, by the same clock. */
  readonly walkStartedAtMs: number;
  /** Whether that walk is still to be finished. */
  readonly walkPending: boolean;
  /** The minId of the walk's next page; null before its first page is committed, and after its last. */
  readonly walkCursor: string | null;
  /** Whether the pending walk has read the list to its end: only the sweep is left. */
  readonly walkListed: boolean;
  /** Whether it was ever resumed after a restart: then it cannot tell what is gone. */
  readonly walkResumed: boolean;
  /** The newest walk on demand that was begun; the same request is never served twice. */
  readonly walkRequest: string | null;
  /** How many deletions the operator has allowed for the pending walk. */
  readonly walkAllowShrink: number | null;
  readonly counts: WalkCounts;
  /** When the stream had last answered before the gap that is suspected now; null when none is. */
  readonly gapSuspectedFromMs: number | null;
  /** When gaps were healed within the last day. */
  readonly gapsHealedAtMs: readonly number[];
}

const VERSION = 2;

/** The walk on demand that a new walk serves, and what it may delete. */
export type WalkDemand = Pick<InstrumentsOffset, 'walkRequest' | 'walkAllowShrink'>;

/** The offset with a fresh walk pending, in place of whichever was under way. */
export function beginWalk(offset: InstrumentsOffset, startedAtMs: number, demand: WalkDemand): InstrumentsOffset {
  return {
    ...offset,
    ...demand,
    walk: offset.walk + 1,
    walkStartedAtMs: startedAtMs,
    walkPending: true,
    walkCursor: null,
    walkListed: false,
    walkResumed: false,
    counts: NO_COUNTS,
  };
}

/**
 * The first offset of a source: its stream starts where the provider's does now, and its first walk is pending, which
 * serves a walk on demand that waits.
 */
export function firstOffset(
  filter: string,
  since: string,
  time: AnswerTime,
  walkRequest: string | null,
): InstrumentsOffset {
  const nothing: InstrumentsOffset = {
    filter,
    since,
    serverDate: time,
    standingMs: 0,
    walk: 0,
    walkStartedAtMs: time.dateMs,
    walkPending: false,
    walkCursor: null,
    walkListed: false,
    walkResumed: false,
    walkRequest: null,
    walkAllowShrink: null,
    counts: NO_COUNTS,
    gapSuspectedFromMs: null,
    gapsHealedAtMs: [],
  };
  return beginWalk(nothing, time.dateMs, { walkRequest, walkAllowShrink: null });
}
const COUNT_NAMES = Object.keys(NO_COUNTS) as readonly (keyof WalkCounts)[];

/** The offset as a flat map of primitives, the form of Kafka Connect's offsets topic. */
export function writeInstrumentsOffset(offset: InstrumentsOffset): SourceOffset {
  const { gapsHealedAtMs, gapSuspectedFromMs } = offset;
  return {
    version: VERSION,
    filter: offset.filter,
    since: offset.since,
    serverDate: isoDate(offset.serverDate.dateMs),
    serverDateFrom: offset.serverDate.from,
    ownDate: isoDate(offset.serverDate.ownMs),
    standingMs: offset.standingMs,
    walk: offset.walk,
    walkStartedAt: isoDate(offset.walkStartedAtMs),
    walkPending: offset.walkPending,
    walkCursor: offset.walkCursor,
    walkListed: offset.walkListed,
    walkResumed: offset.walkResumed,
    walkRequest: offset.walkRequest,
    walkAllowShrink: offset.walkAllowShrink,
    ...Object.fromEntries(COUNT_NAMES.map((name) => [countKey(name), offset.counts[name]])),
    gapSuspectedFrom: gapSuspectedFromMs === null ? null : isoDate(gapSuspectedFromMs),
    gapsHealedAt: gapsHealedAtMs.length === 0 ? null : gapsHealedAtMs.map(isoDate).join(' '),
  };
}

/**
 * @throws ConnectorError OFFSET_UNREADABLE for a map that no version wrote, FILTER_CHANGED for one that belongs to
 *   another filter: going on from it would mix two universes in one topic.
 */
export function readInstrumentsOffset(raw: SourceOffset, source: string, filter: string): InstrumentsOffset {
  const unreadable = (what: string) =>
    new ConnectorError(
      'OFFSET_UNREADABLE',
      `The committed offset of source ${source} has ${what}. Repair or reset it.`,
    );
  const read = <T>(key: string, is: (value: unknown) => value is T): T => {
    const value = raw[key];
    if (!is(value)) throw unreadable(`no usable ${key}`);
    return value;
  };
  const readOr = <T, E>(key: string, is: (value: unknown) => value is T, otherwise: E): T | E =>
    raw[key] === undefined || raw[key] === null ? otherwise : read(key, is);
  if (raw.version !== 1 && raw.version !== VERSION) {
    throw unreadable(`version ${String(raw.version)} where ${VERSION} is known`);
  }
  const committedFilter = read('filter', isText);
  if (committedFilter !== filter) {
    throw new ConnectorError(
      'FILTER_CHANGED',
      `Source ${source} is set to "${filter}", but its committed offset belongs to "${committedFilter}". ` +
        'Restore the setting, or reset the offset and empty the topic.',
    );
  }
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, readOr(countKey(name), isCount, 0)]));
  // Version 1 never read the stream: its offset is as old as its walk, whatever its pages were answered.
  const serverDate = read(raw.version === 1 ? 'walkStartedAt' : 'serverDate', isDate);
  const ownDate = raw.version === 1 ? serverDate : readOr('ownDate', isDate, serverDate);
  const suspectedFrom = readOr('gapSuspectedFrom', isDate, null);
  return {
    filter,
    since: read('since', isText),
    serverDate: {
      dateMs: Date.parse(serverDate),
      from: readOr('serverDateFrom', isClock, 'connector'),
      ownMs: Date.parse(ownDate),
    },
    standingMs: readOr('standingMs', isCount, 0),
    walk: read('walk', isCount),
    walkStartedAtMs: Date.parse(read('walkStartedAt', isDate)),
    walkPending: read('walkPending', isFlag),
    walkCursor: readOr('walkCursor', isCursor, null),
    walkListed: readOr('walkListed', isFlag, false),
    walkResumed: readOr('walkResumed', isFlag, false),
    walkRequest: readOr('walkRequest', isText, null),
    walkAllowShrink: readOr('walkAllowShrink', isCount, null),
    counts: { ...NO_COUNTS, ...counts },
    gapSuspectedFromMs: suspectedFrom === null ? null : Date.parse(suspectedFrom),
    gapsHealedAtMs: readOr('gapsHealedAt', isDates, '')
      .split(' ')
      .filter((date) => date !== '')
      .map((date) => Date.parse(date)),
  };
}

function countKey(name: string): string {
  return `walk${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

function isoDate(ms: number): string {
  return new Date(ms).toISOString();
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isClock(value: unknown): value is 'provider' | 'connector' {
  return value === 'provider' || value === 'connector';
}

function isCursor(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value);
}

function isDate(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isDates(value: unknown): value is string {
  return typeof value === 'string' && value.split(' ').every(isDate);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
