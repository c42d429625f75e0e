import type { SourceSettingsOf } from '../../config/settings.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { SourceStarted } from '../../observe/events.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { DecodedRow } from '../../records/decoding/page-decoder.ts';
import type { SourceTask } from '../source-worker.ts';
import type { FollowerAnswer } from '../stream/follower-messages.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { isBefore } from '../stream/stream-response.ts';
import type { Census } from '../walk/census.ts';
import type { InstrumentsCore } from '../walk/instruments-core.ts';
import type { CoreAnswer, CoreDecision, CoreRequest, CoreWrite, PageRequest } from '../walk/instruments-messages.ts';
import { type InstrumentsOffset, walkIntervalMs, writeInstrumentsOffset } from '../walk/instruments-offset.ts';
import { marginMs } from '../walk/list-lag.ts';
import type { WalkRequests } from '../wanted-states.ts';
import {
  aside,
  askStart,
  askStream,
  type CoreTaskOptions,
  type CoreTaskParts,
  createCoreTask,
  type Decided,
  provenance,
} from './core-task.ts';
import type { FollowedOutcome, FollowedResponse } from './followed-stream.ts';
import {
  eventFacts,
  eventRecords,
  type InstrumentTargets,
  rowFacts,
  rowRecords,
  tombstones,
} from './instrument-records.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';
import type { KnownDeadRows } from './known-dead-rows.ts';
import { ListPages } from './list-pages.ts';
import { instrumentsNotification } from './notification-texts.ts';
import { deadLetterCounts, eventsReport, totals } from './response-report.ts';

export interface InstrumentsTaskOptions extends CoreTaskOptions {
  readonly targets: InstrumentTargets;
  readonly core: InstrumentsCore;
  readonly provider: InstrumentsProvider;
  readonly walkRequests: WalkRequests;
  readonly census: (offset: InstrumentsOffset | null, signal: AbortSignal) => Promise<Census>;
  readonly settings: Pick<
    SourceSettingsOf<'instruments'>,
    'deleteOnEventTypes' | 'walkIntervalMs' | 'behindLimitMs' | 'handoffMarginMs'
  >;
  readonly deadRows: KnownDeadRows;
  readonly endpoints: Pick<ReferenceData, 'instrumentsEndpoint' | 'eventsEndpoint'>;
}

type Request = Exclude<CoreRequest, { kind: 'wait' }>;
type DecidedHere = Decided<CoreDecision, DecodedEvent>;

/** Creates the task of an instruments source. The task reads the event stream and, during a walk, also the list. */
export function createInstrumentsTask(options: InstrumentsTaskOptions): SourceTask {
  const { source, core, deadRows, events, clock } = options;
  const pages = new ListPages(options.provider, clock);
  const ask = createRequests(options, pages);
  const written = createWrittenRecords(options, pages);
  return createCoreTask<CoreDecision, DecodedEvent, Request>(options, {
    core,
    next(nowMs, listFreeMs) {
      const { request: walk, superseded: wake } = options.walkRequests.newest(source);
      if (walk !== null) core.requestWalk(walk);
      return { request: core.next(nowMs, listFreeMs), wake };
    },
    ...ask,
    records: ({ decision, answer }) => [
      ...(decision.writes && answer !== null ? written.ofEvents(answer, decision.isAgain) : []),
      ...written.ofWalk(decision),
    ],
    notification: (notification, { serverDate }) => instrumentsNotification(source, notification, serverDate.dateMs),
    writeOffset: (offset) => writeInstrumentsOffset(offset, walkIntervalMs(offset, options.settings)),
    started: () => (core.offset === null ? {} : { walk: newestWalk(core.offset) }),
    place: () => ({
      walksWithoutDeletion: core.offset?.walksWithoutDeletion ?? 0,
      secondsToNextWalk: core.secondsToNextWalk(clock.monotonicMs(), clock.wallMs()),
    }),
    committed({ decision, answer }, commitMs) {
      if (decision.writes && answer !== null) {
        events.streamCommitted({ ...eventsReport(source, answer, commitMs), isAgain: decision.isAgain });
        const instruments = answer.decoded.rows.filter((event) => isDeletion(event, options.settings)).length;
        if (instruments > 0 && !decision.isAgain) events.instrumentsDeleted({ source, why: 'event', instruments });
      }
      const rows = written.rows(decision);
      reportDecision(options, decision, pages.held, rows, commitMs);
      deadRows.remember(rows.filter((row) => row.kind === 'failure'));
    },
  });
}

export function isDeletion(
  event: DecodedEvent,
  { deleteOnEventTypes }: Pick<InstrumentsTaskOptions['settings'], 'deleteOnEventTypes'>,
): boolean {
  return event.kind === 'event' && event.type !== null && deleteOnEventTypes.includes(event.type);
}

function createRequests(
  options: InstrumentsTaskOptions,
  pages: ListPages,
): Pick<CoreTaskParts<CoreDecision, DecodedEvent, Request>, 'ofList' | 'ask'> {
  const { core, provider: stream, clock } = options;
  const answered = (answer: CoreAnswer): CoreDecision => core.answered(answer, clock.monotonicMs());
  const ofStream = (answer: FollowerAnswer, rows: readonly DecodedEvent[]) =>
    answered(
      answer.kind === 'stream'
        ? { ...answer, events: eventFacts(rows, (event) => isDeletion(event, options.settings)) }
        : answer,
    );
  const ofPage = ({ decoded, fetchMs }: InstrumentsPage, answer: CoreAnswer): DecidedHere => ({
    ...aside(answered(answer)),
    poll: { endpoint: 'instruments', rows: decoded.rows.length, durationMs: fetchMs },
  });
  const takePage = async (request: PageRequest, signal: AbortSignal) => {
    const { walk, minId } = request;
    const isWanted = inThisWalk(core);
    const page = await pages.take(request, signal);
    return () => {
      if (!isWanted()) return null;
      const { next, start } = page;
      const asked = ofPage(page, { kind: 'page', walk, minId, rows: rowFacts(page.decoded.rows), next, start });
      if (asked.decision.ahead !== null) pages.fetchAhead(asked.decision.ahead, signal);
      return asked;
    };
  };
  const askBehindLast = async (minId: string | null, signal: AbortSignal) => {
    const isWanted = inThisWalk(core);
    const page = await stream.page(minId, signal);
    return () =>
      isWanted() ? ofPage(page, { kind: 'behindLast', rows: rowFacts(page.decoded.rows), next: page.next }) : null;
  };

  return {
    ofList(request) {
      switch (request.kind) {
        case 'start':
          return (signal) => askStart({ stream, clock }, answered, signal);
        case 'page':
          return (signal) => takePage(request, signal);
        case 'behindLast':
          return (signal) => askBehindLast(request.minId, signal);
        default:
          return undefined;
      }
    },
    async ask(request, signal) {
      switch (request.kind) {
        case 'verifyStart':
          return askStream({ stream, endpoint: 'events' }, request, ofStream, signal);
        case 'stream': {
          // During the drain of a page, uses the prefetched response of the stream, if there is one.
          const after: InstrumentsProvider['after'] = async (_since, asking) => {
            const outcome = await pages.after(request.since, core.phase === 'draining', asking);
            return endedAt(core.offset?.again?.since ?? null, outcome, (from) => stream.after(from, asking));
          };
          return askStream({ stream: { ...stream, after }, endpoint: 'events' }, request, ofStream, signal);
        }
        case 'commit': {
          const { write, offset } = request.decision;
          // Starts further prefetches when the rows of a page are written.
          if (write.kind === 'rows' && offset !== null) pages.use(offset.since, signal);
          return aside(request.decision);
        }
        case 'census':
          return aside(answered({ kind: 'census', census: await options.census(core.offset, signal) }));
        default:
          throw new Error(`The list's request ${request.kind} belongs to ofList, not to ask.`);
      }
    },
  };
}

/**
 * `furthest`: the furthest offset ever read; null while no events repeat. Events up to `furthest` change no instrument.
 * Events after `furthest` are new. If a response has both, the events after `furthest` are requested too, and are
 * removed from the response. The response then ends at `furthest`, and the next request gets the new events.
 */
async function endedAt(
  furthest: string | null,
  outcome: FollowedOutcome<DecodedEvent>,
  after: (since: string) => Promise<FollowedOutcome<DecodedEvent>>,
): Promise<FollowedOutcome<DecodedEvent>> {
  if (furthest === null || outcome.kind === 'refused' || !isBefore(furthest, outcome.answer.next)) return outcome;
  const { answer } = outcome;
  const { rows } = answer.decoded;
  const later = rows.length === 0 ? outcome : await after(furthest);
  const news = later.kind === 'refused' ? [] : later.answer.decoded.rows;
  const isNews = (from: number) =>
    news.slice(0, rows.length - from).every((event, at) => isSame(event, rows[from + at]));
  const first = news.length === 0 ? -1 : rows.findIndex((_, from) => isNews(from));
  if (first < 0) return outcome;
  return {
    kind: 'stream',
    answer: { ...answer, next: furthest, decoded: { ...answer.decoded, rows: rows.slice(0, first) } },
  };
}

function isSame(one: DecodedEvent, other: DecodedEvent | undefined): boolean {
  const bytesOf = (event: DecodedEvent) => (event.kind === 'event' ? event.eventValue : event.raw);
  return other !== undefined && bytesOf(one).equals(bytesOf(other));
}

/** The returned function tells if this phase of the walk goes on. The stream may end the phase before the list answers. */
function inThisWalk(core: InstrumentsCore): () => boolean {
  const { phase, offset } = core;
  return () => core.phase === phase && core.offset?.walk === offset?.walk;
}

function createWrittenRecords(options: InstrumentsTaskOptions, pages: ListPages) {
  const { source, core, targets, deadRows } = options;
  const headers = (endpoint: string, { dateMs }: ResponseTime, walk?: number) =>
    provenance({ source, walk, since: core.offset?.since ?? null, endpoint, dateMs });

  function rows({ write }: CoreDecision): DecodedRow[] {
    if (write.kind !== 'rows') return [];
    return write.rows
      .flatMap((position) => pages.held?.decoded.rows[position] ?? [])
      .filter((row) => row.kind !== 'failure' || !deadRows.isKnown(row));
  }

  return {
    rows,
    ofEvents({ decoded, time }: FollowedResponse<DecodedEvent>, isAgain: boolean): OutgoingRecord[] {
      const deletes = (event: DecodedEvent) => isDeletion(event, options.settings);
      const since = core.offset?.since ?? '';
      for (const event of decoded.rows) if (event.kind === 'failure') deadRows.addEvent(event.key, since);
      const records = eventRecords(decoded.rows, targets, headers(options.endpoints.eventsEndpoint, time), deletes);
      // The instruments topic may hold a newer state of the instrument than a repeated event.
      return isAgain ? records.filter(({ topic }) => topic !== targets.instruments.name) : records;
    },
    ofWalk(decision: CoreDecision): OutgoingRecord[] {
      const { write, offset } = decision;
      if (offset === null || write.kind === 'nothing') return [];
      // Rows have the time of their page. `serverDate` is later, because the stream has answered after the page.
      const time = write.kind === 'rows' ? pages.held?.time : undefined;
      const listed = headers(options.endpoints.instrumentsEndpoint, time ?? offset.serverDate, offset.walk);
      return write.kind === 'rows'
        ? rowRecords(rows(decision), targets, listed)
        : tombstones(write.ids, targets, listed);
    },
  };
}

function reportDecision(
  { source, events, settings }: InstrumentsTaskOptions,
  { write, offset, notifications, begun }: CoreDecision,
  page: InstrumentsPage | null,
  rows: readonly DecodedRow[],
  commitMs: number,
): void {
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
    }
  }
  if (begun === null) return;
  const waitMs = marginMs(settings, offset);
  events.walkStarted({ source, walk: offset.walk, since: offset.since, why: begun, waitMs });
}

function newestWalk(offset: InstrumentsOffset): SourceStarted['walk'] & object {
  const { walk, walkStartedOwnMs, walkPending, counts } = offset;
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
    notWritten: unchanged + touched + contradicting,
    ...deadLetterCounts(written),
    repeatedRows: repeated,
    ...totals(decoded),
    jsonBytes: decoded.bytes,
    fetchMs,
  };
}
