import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import {
  committedWalkIntervalMs,
  readInstrumentsOffset,
  walkTwice,
  writeInstrumentsOffset,
} from '../connector/walk/instruments-offset.ts';
import { ConnectorError } from '../errors.ts';
import type { SourceOffset, StoredOffset } from '../kafka/offset-store.ts';
import { DEAD_LETTER_HEADER } from './dead-letters/dead-letter-order.ts';
import type { Installation } from './installation.ts';
import { changeOffset, type OffsetChange } from './offsets-operation.ts';
import { assertForm } from './usable-offset.ts';

/** Where the stream of a source shall go on: at an offset of the provider, or where it was at a time. */
export type RequestedPlace = { readonly since: string } | { readonly atMs: number };

/** A place in the stream, and when the provider was asked there. */
export interface FoundPlace {
  readonly since: string;
  /** By the provider's clock, ISO 8601; null when no record of the topic has it. */
  readonly received: string | null;
  /** Whether the topic has nothing of the source from before the time that was asked for. */
  readonly isOldest: boolean;
}

export interface OffsetSet {
  readonly place: FoundPlace;
  /** What is committed then; null when nothing is committed now, so that there is nothing to change. */
  readonly after: SourceOffset | null;
  readonly change: OffsetChange;
}

/**
 * Lets the stream of a source continue at another place. The place of a time is that of the first record that the source
 * wrote at that time or later: the provider was asked for what came after it, so nothing from then on is left out, and a
 * little from before comes again. Instruments that are read again may bring back what is gone without an event, and what
 * is passed over leaves them as they were: so a source of instruments walks again when it runs.
 *
 * @throws ConnectorError OFFSET_UNREADABLE; OFFSET_NOT_FOUND when nothing is committed, the form of the offset is wrong,
 *   or no record has the place of that time; and as `changeOffset` does.
 */
export async function setOffset(
  at: Installation,
  request: { readonly source: SourceSettings; readonly to: RequestedPlace; readonly execute: boolean },
): Promise<OffsetSet> {
  const { source, to, execute } = request;
  const place = await findPlace(at, source, to);
  let after: SourceOffset | null = null;
  const change = ({ offset }: StoredOffset): SourceOffset => {
    if (offset === null) throw notFound(`Source ${source.name} has no committed offset that could be changed.`);
    after = movedOffset(source, offset, place, at.clock.wallMs());
    return after;
  };
  const outcome = await changeOffset(at, { source, execute }, change);
  if (!execute) change({ key: '', partition: 0, offset: outcome.before.offset, error: null });
  return { place, after, change: outcome };
}

/**
 * The date says how old the place is, for the provider forgets events after seven days. Where no record has it, it is
 * as old as possible: the source then reports a suspected gap and walks.
 */
function movedTo(offset: SourceOffset, { since, received }: Pick<FoundPlace, 'since' | 'received'>): SourceOffset {
  const date = received ?? new Date(0).toISOString();
  // What was suspected of the earlier place, and held beside it, says nothing about this one.
  const nothing = { standingMs: 0, standingLeastMs: 0, gapSuspectedFrom: null, heldSince: null, heldMs: null };
  return { ...offset, since, serverDate: date, ownDate: date, ...nothing };
}

/** The offset at another place; instruments are walked again. */
export function movedOffset(
  source: SourceSettings,
  offset: SourceOffset,
  place: Pick<FoundPlace, 'since' | 'received'>,
  nowMs: number,
): SourceOffset {
  const moved = movedTo(offset, place);
  if (source.type !== 'instruments') return moved;
  const walking = walkTwice(readInstrumentsOffset(moved, source.name, String(offset.filter)), nowMs);
  return writeInstrumentsOffset(walking, committedWalkIntervalMs(offset));
}

async function findPlace(at: Installation, source: SourceSettings, to: RequestedPlace): Promise<FoundPlace> {
  if ('since' in to) assertForm(source, to.since);
  let found: { readonly since: string; readonly received: string | null; readonly timestampMs: number } | null = null;
  let isOldest = true;
  const { topics } = at.settings;
  const topic = topicOf(at.settings, streamTopic(source));
  await at.kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: topics.partitions }, (_, partition) => partition),
    onRecord({ headers, timestampMs }) {
      const { 'spc-source': writer, 'spc-since': since, 'spc-received': received = null } = headers;
      // A dead letter that was written later carries the place of its input.
      if (writer !== source.name || since === undefined || DEAD_LETTER_HEADER in headers) return;
      if ('atMs' in to && timestampMs < to.atMs) isOldest = false;
      if ('since' in to ? since !== to.since : timestampMs < to.atMs) return;
      if (found === null || timestampMs < found.timestampMs) found = { since, received, timestampMs };
    },
    signal: at.signal,
  });
  if (found !== null) return foundPlace(found, isOldest && 'atMs' in to);
  if ('since' in to) return { since: to.since, received: null, isOldest: false };
  const time = new Date(to.atMs).toISOString();
  throw notFound(
    `Source ${source.name} has written nothing to ${topic} since ${time}, so its place at that time is unknown.`,
  );
}

function foundPlace({ since, received }: Pick<FoundPlace, 'since' | 'received'>, isOldest: boolean): FoundPlace {
  return { since, received, isOldest };
}

/** Where the records of the stream are, each with the offset after which it came. */
function streamTopic(source: Settings['sources'][number]): string {
  return source.type === 'pre-trade-checks' ? source.topics['pre-trade-checks'] : source.topics['instrument-events'];
}

function notFound(text: string): ConnectorError {
  return new ConnectorError('OFFSET_NOT_FOUND', text);
}
