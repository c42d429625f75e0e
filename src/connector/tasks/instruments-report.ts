import type { DecodedList } from '../../decoding/decoded-list.ts';
import type { DecodedRow } from '../../decoding/page-decoder.ts';
import type {
  ConnectorEvents,
  PageCommitted,
  Polled,
  SourceStarted,
  StreamPlace,
} from '../../observability/connector-events.ts';
import type { CoreDecision } from '../walk/instruments-messages.ts';
import type { InstrumentsOffset } from '../walk/instruments-offset.ts';
import { deadLetterCounts } from './dead-letter-counts.ts';
import type { InstrumentEvents, InstrumentsPage } from './instruments-provider.ts';
import { notificationContent } from './notification-content.ts';

/** Reports what became of a response once it is committed. */
export interface InstrumentsReport {
  /** `offset`: where the source goes on from; null without a committed offset. */
  started(place: Omit<StreamPlace, 'source'>, offset: InstrumentsOffset | null): void;
  polled(poll: Omit<Polled, 'source'>): void;
  decided(
    decision: CoreDecision,
    came: {
      readonly page: InstrumentsPage | null;
      /** The rows of the page that were written. */
      readonly rows: readonly DecodedRow[];
      readonly events: InstrumentEvents | null;
      /** Events of the answer that delete their instrument. */
      readonly deletions: number;
      readonly commitMs: number;
    },
  ): void;
}

/** Decisions as business events: one place, so that logs and metrics see the same. */
export function createInstrumentsReport(
  source: string,
  events: ConnectorEvents,
  walkIntervalMs: number,
): InstrumentsReport {
  const scheduled = ({ walkStartedOwnMs }: InstrumentsOffset) =>
    events.walkScheduled({ source, at: new Date(walkStartedOwnMs + walkIntervalMs).toISOString() });
  return {
    started(place, offset) {
      events.sourceStarted({ source, ...place, ...(offset !== null && { walk: newestWalk(offset) }) });
      if (offset !== null && !offset.walkPending) scheduled(offset);
    },
    polled: (poll) => events.polled({ source, ...poll }),
    decided({ write, writes, offset, notifications, begun, discarded }, came) {
      const { commitMs } = came;
      if (discarded !== null) events.answerDiscarded({ source, why: discarded });
      if (offset === null) return;
      if (writes && came.events !== null) {
        const { decoded, next } = came.events;
        const taken = decoded.rows.flatMap((event) => (event.kind === 'event' ? [event] : []));
        events.eventsCommitted({
          source,
          events: taken.length,
          ...deadLetterCounts(decoded.rows),
          ...totals(decoded),
          since: next,
          commitMs,
          items: taken.map(({ type, name, isin, key }) => ({ type, name, isin, id: key })),
        });
      }
      const deleted = write.kind === 'tombstones' ? write.ids.length : writes ? came.deletions : 0;
      const why = write.kind === 'tombstones' ? 'walk' : 'event';
      if (deleted > 0) events.instrumentsDeleted({ source, why, instruments: deleted });
      if (write.kind === 'rows' && came.page !== null) {
        events.pageCommitted({ source, ...pageReport(write.counts, offset, came.page, came.rows), commitMs });
      }
      for (const notification of notifications) {
        if (notification.kind === 'walkCompleted') {
          const { walk, counts, startedAtMs, resumed } = notification;
          events.walkCompleted({
            source,
            walk,
            resumed,
            ...counts,
            durationMs: offset.serverDate.dateMs - startedAtMs,
          });
          // A resumed walk is followed by a fresh one at once.
          if (begun === null) scheduled(offset);
        } else {
          const { message: text } = notificationContent(source, notification, offset);
          events.notified({ source, kind: notification.kind, text });
        }
      }
      if (begun !== null) events.walkStarted({ source, walk: offset.walk, since: offset.since, why: begun });
    },
  };
}

function pageReport(
  counts: (CoreDecision['write'] & { kind: 'rows' })['counts'],
  offset: InstrumentsOffset,
  { decoded, fetchMs }: InstrumentsPage,
  written: readonly DecodedRow[],
): Omit<PageCommitted, 'source' | 'commitMs'> {
  const { added, corrected, reEncoded, unchanged, touched, contradicting, repeated } = counts;
  return {
    page: offset.counts.pages,
    rows: decoded.rows.length,
    records: added + corrected + reEncoded,
    unchanged: unchanged + touched + contradicting,
    ...deadLetterCounts(written),
    repeatedRows: repeated,
    ...totals(decoded),
    avroBytes: decoded.rows.reduce((sum, row) => sum + (row.kind === 'record' ? row.value.length : 0), 0),
    jsonBytes: decoded.bytes,
    fetchMs,
    cursor: offset.walkCursor,
  };
}

function newestWalk({
  walk,
  walkStartedOwnMs,
  walkPending,
  counts,
}: InstrumentsOffset): SourceStarted['walk'] & object {
  const { pages, rows, gone } = counts;
  return { walk, startedAt: new Date(walkStartedOwnMs).toISOString(), pages, rows, gone: walkPending ? null : gone };
}

/** What an answer adds to the counts of drift, of rounded numbers and of keys that came twice. */
export function totals({
  rows,
  duplicateKeys,
}: Pick<
  DecodedList<Pick<DecodedRow & { kind: 'record' }, 'driftFields' | 'roundedNumbers' | 'kind'> | { kind: string }>,
  'rows' | 'duplicateKeys'
>) {
  let drift = 0;
  let roundedNumbers = 0;
  for (const row of rows) {
    if (!('driftFields' in row)) continue;
    drift += row.driftFields;
    roundedNumbers += row.roundedNumbers;
  }
  return { drift, roundedNumbers, duplicateKeys };
}
