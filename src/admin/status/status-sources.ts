import type { ConnectorEvents } from '../../observability/connector-events.ts';
import { SourceFacts, type SourceFactsOptions } from './source-facts.ts';
import type { SourceStatus, Trouble } from './status.ts';

/** A request that failed has ended by then: it, its token and its turns have a deadline. */
const TRIED_WITHIN_MS = 5 * 60_000;

type SourceEvents = Omit<ConnectorEvents, 'notified' | 'topicCreated' | 'topicDrift' | 'adminListening' | 'stopped'>;
/** An error as text for operators, without secrets. */
type Describe = (error: unknown) => string;

export interface StatusSourcesOptions extends SourceFactsOptions {
  readonly describe: Describe;
}

/** What is known of each source, from its events. */
export function createStatusSources(options: StatusSourcesOptions): {
  readonly events: SourceEvents;
  status(): readonly SourceStatus[];
} {
  const facts = new SourceFacts(options);
  const { describe } = options;
  return {
    events: {
      ...partitionEvents(facts, describe),
      ...pollEvents(facts, describe),
      ...walkEvents(facts),
      ...stateEvents(facts, describe),
    },
    status: () => facts.status(),
  };
}

function partitionEvents(
  facts: SourceFacts,
  describe: Describe,
): Pick<SourceEvents, 'replicaJoined' | 'writerOpened' | 'writerLost'> {
  const setTrouble = (partition: number, trouble: string | null) => {
    for (const known of facts.all) if (known.partition === partition) known.writerTrouble = trouble;
  };
  return {
    replicaJoined({ partitions }) {
      for (const known of facts.all) {
        known.owned = partitions.includes(known.partition);
        if (!known.owned) facts.setTask('unassigned')(known);
      }
    },
    writerOpened: ({ partition }) => setTrouble(partition, null),
    writerLost: ({ partition, err }) => setTrouble(partition, describe(err)),
  };
}

function pollEvents(
  facts: SourceFacts,
  describe: Describe,
): Pick<SourceEvents, 'polled' | 'eventsCommitted' | 'checksCommitted' | 'responseDiscarded' | 'attemptFailed'> {
  return {
    polled(poll) {
      facts.setPlace(poll);
      facts.update(poll.source, (known) => {
        Object.assign(known, { caughtUp: poll.caughtUp, lastPollAt: facts.isoNow() });
        if (known.heldEndpoint === null || known.heldEndpoint === poll.endpoint) known.trouble = null;
        // What was to be tried again may not be wanted any more. Until then it may hang: its failure is an event of its own.
        else if (known.trouble !== null && known.trouble.nextTryAt <= facts.isoNow(-TRIED_WITHIN_MS))
          known.trouble = null;
      });
    },
    eventsCommitted: ({ source, events, deadLetters }) => facts.addWritten(source, { events, deadLetters }),
    checksCommitted: ({ source, checks, deadLetters }) => facts.addWritten(source, { checks, deadLetters }),
    responseDiscarded() {},
    attemptFailed: ({ source, endpoint = null, failures, waitMs, err }) =>
      facts.update(source, (known) => {
        known.heldEndpoint = endpoint;
        known.trouble = { failures, message: describe(err), nextTryAt: facts.isoNow(waitMs) } satisfies Trouble;
      }),
  };
}

type WalkEvents = 'walkStarted' | 'walkResumed' | 'pageCommitted' | 'walkCompleted' | 'walkScheduled';

function walkEvents(facts: SourceFacts): Pick<SourceEvents, WalkEvents | 'instrumentsDeleted'> {
  return {
    walkStarted: ({ source, walk }) => facts.beginWalk(source, walk, 0),
    walkResumed: ({ source, walk, pages }) => facts.beginWalk(source, walk, pages),
    pageCommitted({ source, page, rows, records, deadLetters }) {
      facts.addWritten(source, { instruments: records, deadLetters });
      facts.update(source, ({ walk }) => {
        if (walk !== null) Object.assign(walk, { pages: page, rows: walk.rows + rows });
      });
    },
    walkCompleted: ({ source, pages, rows, gone }) =>
      facts.update(source, (known) => {
        known.rowsOfLastWalk = rows;
        const completed = { running: false, completedAt: facts.isoNow(), pages, rows, expectedRows: rows, gone };
        if (known.walk !== null) Object.assign(known.walk, completed);
      }),
    // The place of each poll says when the next walk begins, by both clocks.
    walkScheduled() {},
    instrumentsDeleted() {},
  };
}

type StateEvents = 'sourceStarted' | 'schemasRegistered' | 'sourcePaused' | 'sourceResumed' | 'sourceStopped';

function stateEvents(
  facts: SourceFacts,
  describe: Describe,
): Pick<SourceEvents, StateEvents | 'stateUnreadable' | 'sourceFailed'> {
  return {
    sourceStarted(started) {
      facts.update(started.source, facts.setTask('running'));
      facts.setPlace(started);
      if (started.walk) facts.recallWalk(started.source, started.walk);
    },
    schemasRegistered: ({ source }) =>
      facts.update(source, (known) => {
        known.schemasRegistered = true;
      }),
    sourcePaused: ({ source }) => facts.update(source, facts.setTask('paused')),
    sourceResumed: ({ source }) => facts.update(source, facts.setTask('running')),
    sourceStopped: ({ source }) => facts.update(source, facts.setTask('unassigned')),
    stateUnreadable() {},
    sourceFailed: ({ source, err }) => facts.update(source, facts.setTask('failed', describe(err))),
  };
}
