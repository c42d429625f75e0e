import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord, type OutgoingRecord, type TargetTopic } from '../../kafka/record.ts';
import { recordDigest } from '../../records/avro/record-digest.ts';
import type { DecodedFailure } from '../../records/decoding/decoded-list.ts';
import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { DecodedRow } from '../../records/decoding/page-decoder.ts';
import type { EventFacts, RowFacts } from '../walk/instruments-messages.ts';

/** The header with the type of an event, so that consumers can filter without decoding. */
const EVENT_TYPE = 'spc-event-type';
/** A longer type is only in the record's value, because the size limit of a topic includes headers. */
const LONGEST_TYPE = 100;

export interface InstrumentTargets {
  readonly source: string;
  readonly instruments: TargetTopic;
  readonly instrumentEvents: TargetTopic;
  readonly deadLetters: TargetTopic;
  readonly notifications: TargetTopic;
}

type Headers = Readonly<Record<string, string>>;

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

/** Each event becomes two records: the event, and its instrument or a tombstone. Unmapped events are dead letters. */
export function eventRecords(
  events: readonly DecodedEvent[],
  targets: InstrumentTargets,
  headers: Headers,
  deletes: (event: DecodedEvent) => boolean,
): OutgoingRecord[] {
  const headersOf = eventHeaders(headers);
  return events.flatMap((event) => {
    if (event.kind === 'failure') return [deadLetter(event, targets.instrumentEvents, targets, headers)];
    const value = deletes(event) ? null : event.instrumentValue;
    const own = headersOf(event);
    return [
      keyedRecord(targets.instrumentEvents, event.key, event.eventValue, own),
      keyedRecord(targets.instruments, event.key, value, own),
    ];
  });
}

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

/** Adds an event's type to the headers of the response. Events of one type share one object, which is encoded once. */
export function eventHeaders(common: Headers): (event: { readonly type: string | null }) => Headers {
  const byType = new Map<string, Headers>();
  return ({ type }) => {
    if (type === null || type.length > LONGEST_TYPE) return common;
    const known = byType.get(type);
    if (known !== undefined) return known;
    const headers = { ...common, [EVENT_TYPE]: type };
    byType.set(type, headers);
    return headers;
  };
}

export function rowFacts(rows: readonly DecodedRow[]): RowFacts[] {
  return rows.map((row) =>
    row.kind === 'record'
      ? { id: row.id, digest: recordDigest(row.value) }
      : { id: row.key === null ? null : BigInt(row.key), digest: null },
  );
}

export function eventFacts(events: readonly DecodedEvent[], deletes: (event: DecodedEvent) => boolean): EventFacts[] {
  return events.map((event) =>
    event.kind === 'event'
      ? { id: event.id, digest: event.digest, deletes: deletes(event) }
      : { id: event.key === null ? null : BigInt(event.key), digest: null, deletes: false },
  );
}
