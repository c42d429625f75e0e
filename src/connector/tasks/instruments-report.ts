import type { DecodedRow } from '../../decoding/page-decoder.ts';
import type { ConnectorEvents, SourceStarted } from '../../observability/connector-events.ts';
import type { CoreDecision, CoreWrite } from '../walk/instruments-messages.ts';
import type { InstrumentsOffset } from '../walk/instruments-offset.ts';
import type { InstrumentsPage } from './instruments-provider.ts';
import { deadLetterCounts, totals } from './response-report.ts';
import { instrumentsNotification } from './walk-notification.ts';

/** Reports what became of a walk once it is committed. */
export interface InstrumentsReport {
  /** `offset`: where the source goes on from; null without a committed offset. */
  started(offset: InstrumentsOffset | null): void;
  decided(
    decision: CoreDecision,
    written: {
      readonly page: InstrumentsPage | null;
      /** The rows of the page that were written. */
      readonly rows: readonly DecodedRow[];
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
    started(offset) {
      if (offset !== null && !offset.walkPending) scheduled(offset);
    },
    decided({ write, offset, notifications, begun }, { page, rows, commitMs }) {
      if (offset === null) return;
      if (write.kind === 'tombstones') {
        events.instrumentsDeleted({ source, why: 'walk', instruments: write.ids.length });
      }
      if (write.kind === 'rows' && page !== null) {
        const { counts, walkCursor: cursor } = offset;
        events.pageCommitted({ source, page: counts.pages, ...pageReport(page, rows, write), commitMs, cursor });
      }
      for (const notification of notifications) {
        if (notification.kind !== 'walkCompleted') {
          const { message: text } = instrumentsNotification(source, notification, offset.serverDate.dateMs);
          events.notified({ source, kind: notification.kind, text });
        } else {
          const { walk, counts, startedAtMs, resumed } = notification;
          const durationMs = offset.serverDate.dateMs - startedAtMs;
          events.walkCompleted({ source, walk, resumed, ...counts, durationMs });
          // A resumed walk is followed by a fresh one at once.
          if (begun === null) scheduled(offset);
        }
      }
      if (begun !== null) events.walkStarted({ source, walk: offset.walk, since: offset.since, why: begun });
    },
  };
}

/** The newest walk, as the committed offset has it. */
export function newestWalk({
  walk,
  walkStartedOwnMs,
  walkPending,
  counts,
}: InstrumentsOffset): SourceStarted['walk'] & object {
  const { pages, rows, gone } = counts;
  return { walk, startedAt: new Date(walkStartedOwnMs).toISOString(), pages, rows, gone: walkPending ? null : gone };
}

function pageReport(
  { decoded, fetchMs }: InstrumentsPage,
  written: readonly DecodedRow[],
  { counts }: Extract<CoreWrite, { kind: 'rows' }>,
) {
  const { added, corrected, reEncoded, unchanged, touched, contradicting, repeated } = counts;
  return {
    rows: decoded.rows.length,
    records: added + corrected + reEncoded,
    unchanged: unchanged + touched + contradicting,
    ...deadLetterCounts(written),
    repeatedRows: repeated,
    ...totals(decoded),
    avroBytes: decoded.rows.reduce((sum, row) => sum + (row.kind === 'record' ? row.value.length : 0), 0),
    jsonBytes: decoded.bytes,
    fetchMs,
  };
}
