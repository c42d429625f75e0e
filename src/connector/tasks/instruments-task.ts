import type { NotificationEncoder } from '../../avro/notification-encoder.ts';
import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { keyedRecord } from '../../kafka/target-topic.ts';
import type { Polled } from '../../observability/connector-events.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { SourceTask, SourceTurn } from '../source-task.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import type { Census } from '../walk/census.ts';
import type { InstrumentsCore } from '../walk/instruments-core.ts';
import type { CoreDecision, CoreRequest, PageRequest } from '../walk/instruments-messages.ts';
import { type InstrumentsOffset, writeInstrumentsOffset } from '../walk/instruments-offset.ts';
import type { WalkRequests } from '../walk-requests.ts';
import { eventFacts, rowFacts } from './core-facts.ts';
import { eventRecords, type InstrumentTargets, rowRecords, tombstones } from './instrument-records.ts';
import type { InstrumentEvents, InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';
import type { InstrumentsReport } from './instruments-report.ts';
import type { KnownDeadRows } from './known-dead-rows.ts';
import type { ListHold } from './list-hold.ts';
import { notificationContent } from './notification-content.ts';

export interface InstrumentsTaskOptions {
  readonly targets: InstrumentTargets;
  readonly core: InstrumentsCore;
  readonly provider: InstrumentsProvider;
  readonly walkRequests: WalkRequests;
  /** What the instruments topic holds now; `offset`: ours in the stream. */
  readonly census: (offset: InstrumentsOffset | null, signal: AbortSignal) => Promise<Census>;
  /** Resolves once the schemas are registered; asked at each poll, so that a registry that is down is tried again. */
  readonly notificationEncoder: (signal: AbortSignal) => Promise<NotificationEncoder>;
  /** Types of events that delete their instrument. */
  readonly deleteOnEventTypes: readonly string[];
  /** Outlives the task, as what it knows stays on the topic of dead letters. */
  readonly deadRows: KnownDeadRows;
  readonly instrumentsEndpoint: string;
  readonly eventsEndpoint: string;
  readonly report: InstrumentsReport;
  readonly listHold: ListHold;
  readonly clock: Clock;
  readonly random: Random;
}

/** What is asked of the instrument list, which has a back-off of its own. */
const LIST_REQUESTS: readonly CoreRequest['kind'][] = ['start', 'page', 'behindLast'];

/** What came with the newest answers, until the core has decided what of it is written. */
interface NewestAnswers {
  page: InstrumentsPage | null;
  events: InstrumentEvents | null;
  time: ResponseTime | null;
  /** What the newest request was answered with, if that was a poll. */
  poll: Pick<Polled, 'endpoint' | 'rows' | 'durationMs'> | null;
}

/**
 * The instruments source. The core decides what to ask and what an answer means; this asks, keeps what came until it is
 * decided upon, and puts the records of a decision together. The next page is fetched while the one before is drained
 * and committed.
 */
export function createInstrumentsTask(options: InstrumentsTaskOptions): SourceTask {
  const { core, provider, targets, deadRows, report, listHold, clock } = options;
  const { source } = targets;
  const held: NewestAnswers = { page: null, events: null, time: null, poll: null };
  let ahead: { readonly request: PageRequest; readonly page: Promise<InstrumentsPage> } | null = null;
  /** The rows of the page that become records; one that is a dead letter already is left out. */
  const rowsToWrite = ({ write }: CoreDecision) =>
    write.kind !== 'rows'
      ? []
      : write.rows
          .flatMap((position) => held.page?.decoded.rows[position] ?? [])
          .filter((row) => row.kind !== 'failure' || !deadRows.isKnown(row));
  const isDeletion = (event: DecodedEvent) =>
    event.kind === 'event' && event.type !== null && options.deleteOnEventTypes.includes(event.type);

  async function ask(request: Exclude<CoreRequest, { kind: 'wait' }>, signal: AbortSignal): Promise<CoreDecision> {
    const startedMs = clock.monotonicMs();
    const answered = (answer: Parameters<typeof core.answered>[0]) => core.answered(answer, clock.monotonicMs());
    held.poll = null;
    switch (request.kind) {
      case 'commit':
        return request.decision;
      case 'start': {
        const { since, time } = await provider.streamStart(signal);
        held.time = time;
        return answered({ kind: 'start', since, time });
      }
      case 'census':
        return answered({ kind: 'census', census: await options.census(core.offset, signal) });
      case 'verifyStart': {
        const tried = await provider.events(request.since, signal);
        const items = tried.kind === 'events' ? tried.answer.decoded.rows.length : 0;
        return answered({ kind: 'verifyStart', taken: tried.kind === 'events', items });
      }
      case 'stream': {
        const outcome = await provider.events(request.since, signal);
        if (outcome.kind === 'refused') return answered(outcome);
        const { decoded, next, nextId, time } = outcome.answer;
        held.events = outcome.answer;
        held.poll = { endpoint: 'events', rows: decoded.rows.length, durationMs: clock.monotonicMs() - startedMs };
        held.time = time;
        return answered({ kind: 'stream', events: eventFacts(decoded.rows, isDeletion), next, nextId, time });
      }
      case 'page': {
        const page = await takePage(request, signal);
        held.page = page;
        held.poll = pollOf(page);
        const { walk, minId } = request;
        return answered({
          kind: 'page',
          walk,
          minId,
          rows: rowFacts(page.decoded.rows),
          next: page.next,
          start: page.start,
        });
      }
      case 'behindLast': {
        const page = await provider.page(request.minId, signal);
        held.poll = pollOf(page);
        return answered({ kind: 'behindLast', rows: rowFacts(page.decoded.rows), next: page.next });
      }
    }
  }

  function takePage({ walk, minId }: PageRequest, signal: AbortSignal): Promise<InstrumentsPage> {
    const fetched = ahead;
    ahead = null;
    const isSame = fetched?.request.walk === walk && fetched.request.minId === minId;
    return fetched !== null && isSame ? fetched.page : provider.page(minId, signal);
  }

  function fetchAhead(request: PageRequest, signal: AbortSignal): void {
    const page = provider.page(request.minId, signal);
    // The caller that takes the page sees its failure; if the session ends before, it must not end the process.
    page.catch(() => {});
    ahead = { request, page };
  }

  function recordsOf(decision: CoreDecision, encoder: NotificationEncoder): OutgoingRecord[] {
    const { write, writes, notifications, offset } = decision;
    if (offset === null) return [];
    const { since } = core.offset ?? offset;
    const time = held.time ?? offset.serverDate;
    const provenance = (endpoint: string, walk: number | null, { dateMs }: ResponseTime) => ({
      'spc-source': source,
      ...(walk !== null && { 'spc-walk': String(walk) }),
      'spc-since': since,
      'spc-endpoint': endpoint,
      'spc-received': new Date(dateMs).toISOString(),
    });
    const written = (() => {
      switch (write.kind) {
        case 'nothing':
          return [];
        case 'rows': {
          // The stream has answered since the page came.
          const listed = provenance(options.instrumentsEndpoint, offset.walk, held.page?.time ?? time);
          return rowRecords(rowsToWrite(decision), targets, listed);
        }
        case 'tombstones':
          return tombstones(write.ids, targets, provenance(options.instrumentsEndpoint, offset.walk, time));
      }
    })();
    const notices = notifications.map((notification) => {
      const content = notificationContent(source, notification, offset);
      return keyedRecord(targets.notifications, source, encoder.encode(content), {});
    });
    const events = writes ? (held.events?.decoded.rows ?? []) : [];
    const streamed = eventRecords(events, targets, provenance(options.eventsEndpoint, null, time), isDeletion);
    return [...streamed, ...written, ...notices];
  }

  const place = () => ({
    since: core.offset?.since ?? null,
    secondsToRetentionCliff: core.secondsToRetentionCliff(clock.monotonicMs(), clock.wallMs()),
    walksWithoutDeletion: core.offset?.walksWithoutDeletion ?? 0,
    secondsToNextWalk: core.secondsToNextWalk(clock.monotonicMs(), clock.wallMs()),
  });
  report.started(place(), core.offset);

  return {
    async poll(signal): Promise<SourceTurn> {
      const { request: walk, superseded } = options.walkRequests.newest(source);
      if (walk !== null) core.requestWalk(walk);
      const request = core.next(clock.monotonicMs(), listHold.freeMs);
      if (request.kind === 'wait') {
        // A tenth of jitter, so that many clients do not ask at the same moment; too early only asks once more.
        const waitMs = Math.ceil(request.ms * (1 - options.random() / 10));
        return { records: [], offset: null, waitMs, wake: superseded, committed() {} };
      }
      const encoder = await options.notificationEncoder(signal);
      const asking = () => ask(request, signal);
      const decision = await (LIST_REQUESTS.includes(request.kind) ? listHold.ask(asking, signal) : asking());
      if (decision === null) return { records: [], offset: null, waitMs: 0, committed() {} };
      if (decision.ahead !== null) fetchAhead(decision.ahead, signal);
      const committed = (commitMs: number) => {
        decision.committed();
        if (held.poll !== null) report.polled({ ...held.poll, ...place(), caughtUp: core.isCaughtUp });
        const deletions = held.events?.decoded.rows.filter(isDeletion).length ?? 0;
        const rows = rowsToWrite(decision);
        report.decided(decision, { page: held.page, rows, events: held.events, deletions, commitMs });
        deadRows.remember(rows.filter((row) => row.kind === 'failure'));
      };
      const records = recordsOf(decision, encoder);
      const offset = decision.offset && writeInstrumentsOffset(decision.offset);
      if (offset === null) committed(0);
      return { records, offset, waitMs: 0, committed };
    },
  };
}

function pollOf({ decoded, fetchMs }: InstrumentsPage): NewestAnswers['poll'] {
  return { endpoint: 'instruments', rows: decoded.rows.length, durationMs: fetchMs };
}
