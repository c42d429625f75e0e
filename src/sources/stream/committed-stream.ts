import { ConnectorError } from '../../errors.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import type { ResponseTime } from './response-time.ts';
import { type HeldOffset, isProviderBehind } from './retention-gap.ts';

/** The fields of every committed offset that describe the stream. response-time.ts defines a confirmation. */
export interface CommittedStream {
  readonly filter: string;
  readonly serverDate: ResponseTime;
  /** The longest possible time from the last confirmation of our offset by the provider to `serverDate`. */
  readonly standingMs: number;
  /** The shortest possible time from the last confirmation of our offset to `serverDate`. */
  readonly standingLeastMs: number;
  /** When the provider last confirmed our offset before the suspected gap, epoch ms; null: no gap is suspected. */
  readonly gapSuspectedFromMs: number | null;
  /** A fresh offset that may replace our offset after some time (see retention-gap.ts); null if no offset is held. */
  readonly held: HeldOffset | null;
  /**
   * After a lower offset has replaced our offset, the events up to the offset `since` repeat: they are on the topic
   * already. `fromMs`: when the events began to repeat, our clock. Null while no events repeat.
   */
  readonly again: { readonly since: string; readonly fromMs: number } | null;
  readonly gapsHealedAtMs: readonly number[];
}

/**
 * `since`: the furthest offset ever read. `end`: the end of the provider's stream, if this end is lower than our
 * offset. Otherwise `end` is our offset while events repeat, and null while no events repeat.
 */
export function readUpTo(stream: (CommittedStream & { readonly since: string | null }) | null): {
  readonly since: string | null;
  readonly end: string | null;
} {
  const { since = null, again = null, held = null } = stream ?? {};
  const isBehind = isProviderBehind({ since, held });
  if (again === null && !isBehind) return { since, end: null };
  return { since: again?.since ?? since, end: isBehind && held !== null ? held.since : since };
}

/** Returns a flat object of primitives, as Kafka Connect's offsets topic requires. */
export function writeCommittedStream(offset: FollowerOffset, version: number): SourceOffset {
  const { filter, since, serverDate, standingMs, standingLeastMs, gapSuspectedFromMs, held, again, gapsHealedAtMs } =
    offset;
  return {
    version,
    filter,
    since,
    serverDate: isoDate(serverDate.dateMs),
    serverDateFrom: serverDate.from,
    ownDate: isoDate(serverDate.ownMs),
    standingMs,
    standingLeastMs,
    gapSuspectedFrom: gapSuspectedFromMs === null ? null : isoDate(gapSuspectedFromMs),
    heldSince: held === null ? null : held.since,
    heldMs: held === null ? null : held.heldMs,
    againUpTo: again === null ? null : again.since,
    againFrom: again === null ? null : isoDate(again.fromMs),
    gapsHealedAt: gapsHealedAtMs.length === 0 ? null : gapsHealedAtMs.map(isoDate).join(' '),
  };
}

/** @throws ConnectorError OFFSET_UNREADABLE for an unknown version or a wrong field; FILTER_CHANGED. */
export function offsetFields(
  raw: SourceOffset,
  expected: { readonly source: string; readonly filter: string; readonly versions: readonly number[] },
) {
  const { source, filter, versions } = expected;
  const unreadable = (what: string) =>
    new ConnectorError('OFFSET_UNREADABLE', `The committed offset of source ${source} has ${what}.`, {
      fields: { source },
    });
  const read = <T>(key: string, is: (value: unknown) => value is T): T => {
    const value = raw[key];
    if (!is(value)) throw unreadable(`no usable ${key}`);
    return value;
  };
  const readOr = <T, E>(key: string, is: (value: unknown) => value is T, otherwise: E): T | E =>
    raw[key] === undefined || raw[key] === null ? otherwise : read(key, is);

  if (!versions.some((version) => version === raw.version)) {
    throw unreadable(`version ${String(raw.version)}, expected ${versions.at(-1)}`);
  }
  const committed = read('filter', isText);
  if (committed !== filter) {
    throw new ConnectorError(
      'FILTER_CHANGED',
      `The filter of source ${source} is "${filter}", but its committed offset has the filter "${committed}".`,
      { fields: { source } },
    );
  }
  return {
    read,
    readOr,
    stream(dateKey = 'serverDate'): CommittedStream {
      const date = read(dateKey, isDate);
      const suspectedFrom = readOr('gapSuspectedFrom', isDate, null);
      const heldSince = readOr('heldSince', isText, null);
      const againUpTo = readOr('againUpTo', isText, null);
      const healedAt = readOr('gapsHealedAt', isDates, null);
      return {
        filter,
        serverDate: {
          dateMs: Date.parse(date),
          from: readOr('serverDateFrom', isClock, 'connector'),
          ownMs: Date.parse(dateKey === 'serverDate' ? readOr('ownDate', isDate, date) : date),
        },
        standingMs: readOr('standingMs', isCount, 0),
        standingLeastMs: readOr('standingLeastMs', isCount, 0),
        gapSuspectedFromMs: suspectedFrom === null ? null : Date.parse(suspectedFrom),
        held: heldSince === null ? null : { since: heldSince, heldMs: readOr('heldMs', isCount, 0) },
        again:
          againUpTo === null ? null : { since: againUpTo, fromMs: Date.parse(readOr('againFrom', isDate, isoDate(0))) },
        gapsHealedAtMs: healedAt === null ? [] : healedAt.split(' ').map((one) => Date.parse(one)),
      };
    },
  };
}

export function isoDate(ms: number): string {
  return new Date(ms).toISOString();
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function isDate(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isDates(value: unknown): value is string {
  return typeof value === 'string' && value.split(' ').every(isDate);
}

function isClock(value: unknown): value is 'provider' | 'connector' {
  return value === 'provider' || value === 'connector';
}

/** The offset before an operator's reset; unknown fields are null. */
export interface ResetOffset {
  readonly filter: string | null;
  readonly since: string | null;
  readonly dateMs: number | null;
}

/** Reads the offset from before a reset, in any version. No source continues from this offset: it is only reported. */
export function readResetOffset({ filter, since, serverDate }: SourceOffset): ResetOffset {
  const dateMs = typeof serverDate === 'string' ? Date.parse(serverDate) : Number.NaN;
  const textOrNull = (value: unknown) => (isText(value) ? value : null);
  return { filter: textOrNull(filter), since: textOrNull(since), dateMs: Number.isNaN(dateMs) ? null : dateMs };
}

/** The committed offset of a source that only follows one stream. */
export interface FollowerOffset extends CommittedStream {
  readonly since: string | null;
}

const VERSION = 1;

export function offsetAtStart<Since extends string | null>(
  filter: string,
  since: Since,
  serverDate: ResponseTime,
): FollowerOffset & { readonly since: Since } {
  return {
    filter,
    since,
    serverDate,
    standingMs: 0,
    standingLeastMs: 0,
    gapSuspectedFromMs: null,
    held: null,
    again: null,
    gapsHealedAtMs: [],
  };
}

export function writeFollowerOffset(offset: FollowerOffset): SourceOffset {
  return writeCommittedStream(offset, VERSION);
}

export function readFollowerOffset(
  raw: SourceOffset,
  expected: { readonly source: string; readonly filter: string; readonly mayLackSince: boolean },
): FollowerOffset {
  const { read, readOr, stream } = offsetFields(raw, { ...expected, versions: [VERSION] });
  return { ...stream(), since: expected.mayLackSince ? readOr('since', isText, null) : read('since', isText) };
}
