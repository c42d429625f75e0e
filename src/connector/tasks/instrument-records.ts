import type { DecodedFailure } from '../../decoding/decoded-list.ts';
import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import type { DecodedRow } from '../../decoding/page-decoder.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { keyedRecord, type TargetTopic } from '../../kafka/target-topic.ts';
import { eventHeaders } from './event-headers.ts';

/** How many events of the same instrument follow a dead letter in its response: with any, its state is not the newest. */
export const FOLLOWED_HEADER = 'spc-followed';

export interface InstrumentTargets {
  readonly source: string;
  readonly instruments: TargetTopic;
  readonly instrumentEvents: TargetTopic;
  readonly deadLetters: TargetTopic;
  readonly notifications: TargetTopic;
}

type Headers = Readonly<Record<string, string>>;

/** What some rows of a page become: a record for each instrument, a dead letter for each row that does not map. */
export function rowRecords(
  rows: readonly DecodedRow[],
  targets: InstrumentTargets,
  headers: Headers,
): OutgoingRecord[] {
  const target = targets.instruments;
  return rows.map((row) =>
    row.kind === 'failure'
      ? deadLetter(row, target, targets, headers)
      : keyedRecord(target, row.key, row.value, headers),
  );
}

/**
 * What a response of the stream becomes: two records for each event, the event itself and its instrument (a tombstone
 * where the event's type deletes), or one dead letter.
 */
export function eventRecords(
  events: readonly DecodedEvent[],
  targets: InstrumentTargets,
  headers: Headers,
  deletes: (event: DecodedEvent) => boolean,
): OutgoingRecord[] {
  const headersOf = eventHeaders(headers);
  return events.flatMap((event, index) => {
    if (event.kind === 'failure') {
      const followed = events.slice(index + 1).filter(({ kind, key }) => kind === 'event' && key === event.key).length;
      return [
        deadLetter(event, targets.instrumentEvents, targets, { ...headers, [FOLLOWED_HEADER]: String(followed) }),
      ];
    }
    const value = deletes(event) ? null : event.instrumentValue;
    const own = headersOf(event);
    return [
      keyedRecord(targets.instrumentEvents, event.key, event.eventValue, own),
      keyedRecord(targets.instruments, event.key, value, own),
    ];
  });
}

/** Tombstones for the instruments that are gone. */
export function tombstones(
  ids: readonly bigint[],
  { instruments }: InstrumentTargets,
  headers: Headers,
): OutgoingRecord[] {
  return ids.map((id) => keyedRecord(instruments, String(id), null, headers));
}

function deadLetter(
  input: DecodedFailure,
  target: TargetTopic,
  { source, deadLetters }: InstrumentTargets,
  provenance: Headers,
): OutgoingRecord {
  return deadLetterRecord({ topic: deadLetters, source, targetTopic: target.name, input, provenance });
}
