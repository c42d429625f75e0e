import { ConnectorError } from '../../errors.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import type { AnswerTime } from './answer-time.ts';

/** The committed offset of a source that follows one stream and does nothing else. */
export interface FollowerOffset {
  /** The filter that the offset belongs to; another one makes it meaningless. */
  readonly filter: string;
  /** Our offset in the stream; null where it is asked for without one, as pre-trade checks are at first. */
  readonly since: string | null;
  /** When the stream last answered us. */
  readonly serverDate: AnswerTime;
  /** How long our offset had stood still then. */
  readonly standingMs: number;
  /** When the stream had last answered before the gap that is suspected now; null when none is. */
  readonly gapSuspectedFromMs: number | null;
  /** When gaps were healed within the last day. */
  readonly gapsHealedAtMs: readonly number[];
}

const VERSION = 1;

/** The offset as a flat map of primitives, the form of Kafka Connect's offsets topic. */
export function writeFollowerOffset(offset: FollowerOffset): SourceOffset {
  const { serverDate, gapsHealedAtMs, gapSuspectedFromMs } = offset;
  return {
    version: VERSION,
    filter: offset.filter,
    since: offset.since,
    serverDate: isoDate(serverDate.dateMs),
    serverDateFrom: serverDate.from,
    ownDate: isoDate(serverDate.ownMs),
    standingMs: offset.standingMs,
    gapSuspectedFrom: gapSuspectedFromMs === null ? null : isoDate(gapSuspectedFromMs),
    gapsHealedAt: gapsHealedAtMs.length === 0 ? null : gapsHealedAtMs.map(isoDate).join(' '),
  };
}

/**
 * @throws ConnectorError OFFSET_UNREADABLE for a map that no version wrote, FILTER_CHANGED for one that belongs to
 *   another filter: going on from it would mix two streams in one topic.
 */
export function readFollowerOffset(
  raw: SourceOffset,
  expected: {
    readonly source: string;
    readonly filter: string;
    /** Whether the stream can be asked for without an offset. */
    readonly mayLackSince: boolean;
  },
): FollowerOffset {
  const { source, filter, mayLackSince } = expected;
  const unreadable = (what: string) =>
    new ConnectorError(
      'OFFSET_UNREADABLE',
      `The committed offset of source ${source} has ${what}. Repair or reset it.`,
    );
  const text = (key: string): string => {
    const value = raw[key];
    if (typeof value !== 'string' || value === '') throw unreadable(`no usable ${key}`);
    return value;
  };
  const textOrNull = (key: string) => (raw[key] === undefined || raw[key] === null ? null : text(key));
  const dateMs = (key: string, value: string): number => {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) throw unreadable(`no usable ${key}`);
    return ms;
  };
  if (raw.version !== VERSION) throw unreadable(`version ${String(raw.version)} where ${VERSION} is known`);
  const committedFilter = text('filter');
  if (committedFilter !== filter) {
    throw new ConnectorError(
      'FILTER_CHANGED',
      `Source ${source} is set to "${filter}", but its committed offset belongs to "${committedFilter}". ` +
        'Restore the setting, or reset the offset and empty the topic.',
    );
  }
  const { standingMs = 0 } = raw;
  if (typeof standingMs !== 'number' || standingMs < 0) throw unreadable('no usable standingMs');
  const suspectedFrom = textOrNull('gapSuspectedFrom');
  const healedAt = textOrNull('gapsHealedAt');
  return {
    filter,
    since: mayLackSince ? textOrNull('since') : text('since'),
    serverDate: {
      dateMs: dateMs('serverDate', text('serverDate')),
      from: raw.serverDateFrom === 'provider' ? 'provider' : 'connector',
      ownMs: dateMs('ownDate', textOrNull('ownDate') ?? text('serverDate')),
    },
    standingMs,
    gapSuspectedFromMs: suspectedFrom === null ? null : dateMs('gapSuspectedFrom', suspectedFrom),
    gapsHealedAtMs: healedAt === null ? [] : healedAt.split(' ').map((date) => dateMs('gapsHealedAt', date)),
  };
}

function isoDate(ms: number): string {
  return new Date(ms).toISOString();
}
