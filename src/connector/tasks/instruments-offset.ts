import { ConnectorError } from '../../errors.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';

/**
 * The committed offset of an instruments source: where its stream starts and where its walk stands. It is the whole
 * state of the source: what it does next follows from this and the provider's next answer.
 */
export interface InstrumentsOffset {
  /** The filter that all of this belongs to; another one makes the offset meaningless. */
  readonly filter: string;
  /** The provider's offset in the event stream from before the walk's first row. */
  readonly since: string;
  /** The provider's clock at the last committed answer, milliseconds since the epoch. */
  readonly serverDateMs: number;
  /** Whose clock that was: ours only where the provider sent no Date. */
  readonly serverDateFrom: 'provider' | 'connector';
  /** The number of the newest walk, from 1. */
  readonly walk: number;
  /** When that walk began, by the same clock. */
  readonly walkStartedAtMs: number;
  /** Whether that walk is still to be finished. */
  readonly walkPending: boolean;
  /** The minId of the walk's next page; null for its first page, and when no walk is pending. */
  readonly walkCursor: string | null;
  /** What the walk has committed so far. */
  readonly walkPages: number;
  readonly walkRows: number;
  readonly walkDeadLetters: number;
}

const VERSION = 1;

/** The offset as a flat map of primitives, the form of Kafka Connect's offsets topic. */
export function writeInstrumentsOffset(offset: InstrumentsOffset): SourceOffset {
  return {
    version: VERSION,
    filter: offset.filter,
    since: offset.since,
    serverDate: new Date(offset.serverDateMs).toISOString(),
    serverDateFrom: offset.serverDateFrom,
    walk: offset.walk,
    walkStartedAt: new Date(offset.walkStartedAtMs).toISOString(),
    walkPending: offset.walkPending,
    walkCursor: offset.walkCursor,
    walkPages: offset.walkPages,
    walkRows: offset.walkRows,
    walkDeadLetters: offset.walkDeadLetters,
  };
}

/**
 * @throws ConnectorError OFFSET_UNREADABLE for a map that this version did not write, FILTER_CHANGED for one that
 *   belongs to another filter: going on from it would mix two universes in one topic.
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
  if (raw.version !== VERSION) throw unreadable(`version ${String(raw.version)} where ${VERSION} is known`);
  const committedFilter = read('filter', isText);
  if (committedFilter !== filter) {
    throw new ConnectorError(
      'FILTER_CHANGED',
      `Source ${source} is set to "${filter}", but its committed offset belongs to "${committedFilter}". ` +
        'Restore the setting, or reset the offset and empty the topic.',
    );
  }
  const walkCursor = raw.walkCursor ?? null;
  if (walkCursor !== null && !isText(walkCursor)) throw unreadable('no usable walkCursor');
  return {
    filter,
    since: read('since', isText),
    serverDateMs: Date.parse(read('serverDate', isDate)),
    serverDateFrom: raw.serverDateFrom === 'provider' ? 'provider' : 'connector',
    walk: read('walk', isCount),
    walkStartedAtMs: Date.parse(read('walkStartedAt', isDate)),
    walkPending: read('walkPending', (value) => typeof value === 'boolean'),
    walkCursor,
    walkPages: read('walkPages', isCount),
    walkRows: read('walkRows', isCount),
    walkDeadLetters: read('walkDeadLetters', isCount),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isDate(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
