import { recordDigest } from '../../avro/record-digest.ts';
import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import type { DecodedRow } from '../../decoding/page-decoder.ts';
import type { EventFacts, RowFacts } from '../walk/instruments-messages.ts';

/** What the decisions need to know of the rows of a page. */
export function rowFacts(rows: readonly DecodedRow[]): RowFacts[] {
  return rows.map((row) =>
    row.kind === 'record'
      ? { id: row.id, digest: recordDigest(row.value) }
      : { id: row.key === null ? null : BigInt(row.key), digest: null },
  );
}

/** What the decisions need to know of the events of a response. */
export function eventFacts(events: readonly DecodedEvent[], deletes: (event: DecodedEvent) => boolean): EventFacts[] {
  return events.map((event) =>
    event.kind === 'event'
      ? { id: event.id, digest: event.digest, deletes: deletes(event) }
      : { id: event.key === null ? null : BigInt(event.key), digest: null, deletes: false },
  );
}
