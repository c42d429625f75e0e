import type { DecodedPage, PageDecoder } from '../../avro/page-decoder.ts';
import { ConnectorError } from '../../errors.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { ConnectorEvents } from '../../observability/connector-events.ts';
import { eventStreamStart, nextInstrumentCursor } from '../../provider/page-link.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { Clock } from '../../support/clock.ts';
import type { SourceTask, SourceTurn } from '../source-task.ts';
import { assertFewFailures, type InstrumentTargets, instrumentRecords } from './instrument-records.ts';
import { type AnswerTime, afterPage, afterProbe, nextRequest } from './instrument-walk.ts';
import { type InstrumentsOffset, writeInstrumentsOffset } from './instruments-offset.ts';
import { PageSize } from './page-size.ts';

export interface InstrumentsTaskOptions {
  readonly targets: InstrumentTargets;
  /** The committed offset to go on from; null when there is none. */
  readonly offset: InstrumentsOffset | null;
  readonly filter: string;
  readonly referenceData: ReferenceData;
  /** Resolves once the schema is registered; asked before each page, so that a registry that is down is tried again. */
  readonly decoder: (signal: AbortSignal) => Promise<PageDecoder>;
  readonly offsetRecord: (offset: SourceOffset) => OutgoingRecord;
  /** Rows per page. */
  readonly limit: number;
  readonly walkIntervalMs: number;
  /** The share of rows of one answer that may become dead letters. */
  readonly maxDeadLetters: number;
  readonly clock: Clock;
  readonly events: ConnectorEvents;
}

interface FetchedPage {
  readonly decoded: DecodedPage;
  readonly links: ReadonlyMap<string, unknown>;
  readonly time: AnswerTime;
  readonly fetchMs: number;
}

/**
 * The instruments source: walks the whole list once per interval. The decisions are in instrument-walk.ts; this asks
 * the provider, and fetches the next page while the one before is being committed.
 */
export function createInstrumentsTask(options: InstrumentsTaskOptions): SourceTask {
  const { referenceData, targets, walkIntervalMs, clock, events } = options;
  const { source } = targets;
  const size = new PageSize(options.limit);
  let offset = options.offset;
  let ahead: { readonly minId: string; readonly page: Promise<FetchedPage> } | null = null;
  if (offset?.walkPending)
    events.walkResumed({ source, walk: offset.walk, pages: offset.walkPages, cursor: offset.walkCursor });

  async function probe(signal: AbortSignal): Promise<SourceTurn> {
    const { links, time } = await fetchPage(null, 1, signal);
    const since = eventStreamStart(links, referenceData.baseUrl);
    const decision = afterProbe(offset, { filter: options.filter, since, time }, walkIntervalMs);
    return {
      records: decision.offset === null ? [] : [options.offsetRecord(writeInstrumentsOffset(decision.offset))],
      waitMs: decision.waitMs,
      committed() {
        offset = decision.offset;
        events.walkStarted({ source, walk: offset?.walk ?? 0, since });
      },
    };
  }

  async function walkPage(from: InstrumentsOffset, signal: AbortSignal): Promise<SourceTurn> {
    const minId = from.walkCursor;
    const whence = `${referenceData.instrumentsEndpoint}?minId=${minId ?? ''}`;
    const taken = ahead?.minId === minId ? ahead.page : fetchPage(minId, size.items, signal);
    ahead = null;
    const { decoded, links, time, fetchMs } = await taken;
    const next = nextInstrumentCursor(links, referenceData.baseUrl);
    assertFewFailures(decoded.rows, options.maxDeadLetters, whence);
    const page = instrumentRecords(decoded.rows, targets, provenance(from, time));
    const { deadLetters, repeatedRows } = page;
    const decision = afterPage(from, { next, rows: decoded.rows.length, deadLetters, time }, walkIntervalMs);
    size.succeeded();
    if (next !== null) fetchAhead(next, signal);
    return {
      records: [...page.records, options.offsetRecord(writeInstrumentsOffset(decision.offset))],
      waitMs: decision.waitMs,
      committed(commitMs) {
        offset = decision.offset;
        events.pageCommitted({
          source,
          page: offset.walkPages,
          rows: decoded.rows.length,
          records: page.instruments,
          deadLetters,
          repeatedRows,
          ...totals(decoded),
          fetchMs,
          commitMs,
          cursor: next,
        });
        if (next === null) events.walkCompleted(walkSummary(source, offset));
      },
    };
  }

  function fetchAhead(minId: string, signal: AbortSignal): void {
    const page = fetchPage(minId, size.items, signal);
    // Whoever takes the page sees its failure; a lap that ends before must not end the process.
    page.catch(() => {});
    ahead = { minId, page };
  }

  async function fetchPage(minId: string | null, limit: number, signal: AbortSignal): Promise<FetchedPage> {
    const decoder = await options.decoder(signal);
    const startedMs = clock.monotonicMs();
    return referenceData.instruments(
      { minId, limit },
      async (answer) => {
        const decoded = await decoder.decode(answer.body);
        const time: AnswerTime =
          answer.date === null
            ? { dateMs: clock.wallMs(), from: 'connector' }
            : { dateMs: answer.date, from: 'provider' };
        return { decoded, links: linksOf(decoded), time, fetchMs: clock.monotonicMs() - startedMs };
      },
      signal,
    );
  }

  function provenance(from: InstrumentsOffset, time: AnswerTime): Readonly<Record<string, string>> {
    return {
      'spc-source': source,
      'spc-walk': String(from.walk),
      'spc-since': from.since,
      'spc-endpoint': referenceData.instrumentsEndpoint,
      'spc-received': new Date(time.dateMs).toISOString(),
    };
  }

  return {
    poll(signal) {
      const request = nextRequest(offset);
      return request.kind === 'page' && offset !== null ? walkPage(offset, signal) : probe(signal);
    },
    failed(error) {
      ahead = null;
      size.failed(error);
    },
  };
}

function linksOf(decoded: DecodedPage): ReadonlyMap<string, unknown> {
  const links = decoded.envelope.get('links');
  if (links instanceof Map) return links;
  throw new ConnectorError(
    'PROTOCOL_VIOLATION',
    'The answer of the reference data interface has no object "links", which alone tells whether the list goes on. ' +
      'Nothing was written.',
  );
}

function totals(decoded: DecodedPage) {
  let drift = 0;
  let roundedNumbers = 0;
  let avroBytes = 0;
  for (const row of decoded.rows) {
    if (row.kind === 'failure') continue;
    drift += row.driftFields;
    roundedNumbers += row.roundedNumbers;
    avroBytes += row.value.length;
  }
  return { drift, roundedNumbers, avroBytes, duplicateKeys: decoded.duplicateKeys, jsonBytes: decoded.bytes };
}

function walkSummary(source: string, offset: InstrumentsOffset) {
  return {
    source,
    walk: offset.walk,
    pages: offset.walkPages,
    rows: offset.walkRows,
    deadLetters: offset.walkDeadLetters,
    durationMs: offset.serverDateMs - offset.walkStartedAtMs,
  };
}
