import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import type { DecodedRow } from '../../decoding/page-decoder.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { SourceTask } from '../source-task.ts';
import type { FollowerAnswer } from '../stream/follower-messages.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import type { Census } from '../walk/census.ts';
import type { InstrumentsCore } from '../walk/instruments-core.ts';
import type { CoreAnswer, CoreDecision, CoreRequest } from '../walk/instruments-messages.ts';
import { type InstrumentsOffset, writeInstrumentsOffset } from '../walk/instruments-offset.ts';
import type { WalkRequests } from '../walk-requests.ts';
import { eventFacts, rowFacts } from './core-facts.ts';
import { type Asked, askStream, type CoreTaskOptions, createCoreTask, provenance } from './core-task.ts';
import type { FollowedResponse } from './followed-stream.ts';
import { eventRecords, type InstrumentTargets, rowRecords, tombstones } from './instrument-records.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';
import { type InstrumentsReport, newestWalk } from './instruments-report.ts';
import type { KnownDeadRows } from './known-dead-rows.ts';
import type { ListHold } from './list-hold.ts';
import { ListPages } from './list-pages.ts';
import { eventsReport } from './response-report.ts';
import { instrumentsNotification } from './walk-notification.ts';

export interface InstrumentsTaskOptions extends CoreTaskOptions {
  readonly targets: InstrumentTargets;
  readonly core: InstrumentsCore;
  readonly provider: InstrumentsProvider;
  readonly walkRequests: WalkRequests;
  /** What the instruments topic holds now; `offset`: ours in the stream. */
  readonly census: (offset: InstrumentsOffset | null, signal: AbortSignal) => Promise<Census>;
  /** Types of events that delete their instrument. */
  readonly deleteOnEventTypes: readonly string[];
  /** Outlives the task, as what it knows stays on the topic of dead letters. */
  readonly deadRows: KnownDeadRows;
  readonly instrumentsEndpoint: string;
  readonly eventsEndpoint: string;
  readonly report: InstrumentsReport;
  readonly listHold: ListHold;
}

type Request = Exclude<CoreRequest, { kind: 'wait' }>;
type AskedHere = Asked<CoreDecision, DecodedEvent>;

/** What is asked of the instrument list, which has a back-off of its own. */
const LIST_REQUESTS: readonly CoreRequest['kind'][] = ['start', 'page', 'behindLast'];

/** The instruments source: the stream as any other source follows one, and the walk beside it. */
export function createInstrumentsTask(options: InstrumentsTaskOptions): SourceTask {
  const { source, core, deadRows, report, listHold, events, clock } = options;
  const pages = new ListPages(options.provider);
  const ask = createRequests(options, pages);
  const written = createWrittenRecords(options, pages);
  const task = createCoreTask<CoreDecision, DecodedEvent, Request>(options, {
    core,
    next(nowMs) {
      const { request: walk, superseded: wake } = options.walkRequests.newest(source);
      if (walk !== null) core.requestWalk(walk);
      return { request: core.next(nowMs, listHold.freeMs), wake };
    },
    async ask(request, signal) {
      const asking = () => ask(request, signal);
      const asked = await (LIST_REQUESTS.includes(request.kind) ? listHold.ask(asking, signal) : asking());
      if (asked !== null && asked.decision.ahead !== null) pages.fetchAhead(asked.decision.ahead, signal);
      return asked;
    },
    records: ({ decision, answer }) => [
      ...(decision.writes && answer !== null ? written.ofEvents(answer) : []),
      ...written.ofWalk(decision),
    ],
    notification: (notification, { serverDate }) => instrumentsNotification(source, notification, serverDate.dateMs),
    writeOffset: writeInstrumentsOffset,
    started: () => (core.offset === null ? {} : { walk: newestWalk(core.offset) }),
    place: () => ({
      walksWithoutDeletion: core.offset?.walksWithoutDeletion ?? 0,
      secondsToNextWalk: core.secondsToNextWalk(clock.monotonicMs(), clock.wallMs()),
    }),
    committed({ decision, answer }, commitMs) {
      if (decision.writes && answer !== null) {
        events.eventsCommitted(eventsReport(source, answer, commitMs));
        const instruments = answer.decoded.rows.filter((event) => isDeletion(event, options)).length;
        if (instruments > 0) events.instrumentsDeleted({ source, why: 'event', instruments });
      }
      const rows = written.rows(decision);
      report.decided(decision, { page: pages.held, rows, commitMs });
      deadRows.remember(rows.filter((row) => row.kind === 'failure'));
    },
  });
  report.started(core.offset);
  return task;
}

function isDeletion(event: DecodedEvent, { deleteOnEventTypes }: InstrumentsTaskOptions): boolean {
  return event.kind === 'event' && event.type !== null && deleteOnEventTypes.includes(event.type);
}

/** One request of the core, and what its response means. */
function createRequests(options: InstrumentsTaskOptions, pages: ListPages) {
  const { core, provider, clock } = options;
  const answered = (answer: CoreAnswer): CoreDecision => core.answered(answer, clock.monotonicMs());
  const ofStream = (answer: FollowerAnswer, rows: readonly DecodedEvent[]) =>
    answered(
      answer.kind === 'stream'
        ? { ...answer, events: eventFacts(rows, (event) => isDeletion(event, options)) }
        : answer,
    );
  const aside = (decision: CoreDecision): AskedHere => ({ decision, answer: null, poll: null });
  const ofPage = ({ decoded, fetchMs }: InstrumentsPage, answer: CoreAnswer): AskedHere => ({
    decision: answered(answer),
    answer: null,
    poll: { endpoint: 'instruments', rows: decoded.rows.length, durationMs: fetchMs },
  });
  return async (request: Request, signal: AbortSignal): Promise<AskedHere> => {
    switch (request.kind) {
      case 'start':
      case 'verifyStart':
      case 'stream':
        return askStream({ stream: provider, endpoint: 'events', clock }, request, ofStream, signal);
      case 'commit':
        return aside(request.decision);
      case 'census':
        return aside(answered({ kind: 'census', census: await options.census(core.offset, signal) }));
      case 'page': {
        const page = await pages.take(request, signal);
        const { walk, minId } = request;
        const { next, start } = page;
        return ofPage(page, { kind: 'page', walk, minId, rows: rowFacts(page.decoded.rows), next, start });
      }
      case 'behindLast': {
        const page = await provider.page(request.minId, signal);
        return ofPage(page, { kind: 'behindLast', rows: rowFacts(page.decoded.rows), next: page.next });
      }
    }
  };
}

/** What becomes of events, and of a walk. */
function createWrittenRecords(options: InstrumentsTaskOptions, pages: ListPages) {
  const { source, core, targets, deadRows } = options;
  const headers = (endpoint: string, { dateMs }: ResponseTime, walk?: number) =>
    provenance({ source, walk, since: core.offset?.since ?? null, endpoint, dateMs });

  /** The rows of the page that become records; one that is a dead letter already is left out. */
  function rows({ write }: CoreDecision): DecodedRow[] {
    if (write.kind !== 'rows') return [];
    return write.rows
      .flatMap((position) => pages.held?.decoded.rows[position] ?? [])
      .filter((row) => row.kind !== 'failure' || !deadRows.isKnown(row));
  }

  return {
    rows,
    ofEvents: ({ decoded, time }: FollowedResponse<DecodedEvent>): OutgoingRecord[] =>
      eventRecords(decoded.rows, targets, headers(options.eventsEndpoint, time), (event) => isDeletion(event, options)),
    ofWalk(decision: CoreDecision): OutgoingRecord[] {
      const { write, offset } = decision;
      if (offset === null || write.kind === 'nothing') return [];
      // The stream has answered since the page came.
      const time = write.kind === 'rows' ? pages.held?.time : undefined;
      const listed = headers(options.instrumentsEndpoint, time ?? offset.serverDate, offset.walk);
      return write.kind === 'rows'
        ? rowRecords(rows(decision), targets, listed)
        : tombstones(write.ids, targets, listed);
    },
  };
}
