import type { afterwards } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { ConnectorEvents } from './connector-events.ts';
import { createMinuteSummary } from './minute-summary.ts';
import type { ProcessorEvents } from './processor-events.ts';

/** Events as log lines: the message is fixed, the facts are fields. Responses of a stream are added up to one line a minute. */
export function logConnectorEvents(log: Log, later?: typeof afterwards): ConnectorEvents {
  const line = linesOf(log);
  const minute = createMinuteSummary(
    (source, sums) => line('info', 'committed within a minute')({ source, ...sums }),
    later,
  );
  return {
    topicCreated: line('info', 'topic created'),
    topicDrift: line('warn', 'topic differs from what would be created'),
    replicaJoined: line('info', 'joined the replicas'),
    writerOpened: line('info', 'writer opened'),
    sourceStarted: line('info', 'source started'),
    schemasRegistered: line('debug', 'schemas registered'),
    polled: line('debug', 'poll answered'),
    walkStarted: line('info', 'walk started'),
    walkResumed: line('info', 'walk resumed'),
    pageCommitted: line('info', 'page committed'),
    walkCompleted: line('info', 'walk completed'),
    walkScheduled: line('info', 'next walk scheduled'),
    eventsCommitted({ items: _, ...event }) {
      const { source, events, deadLetters } = event;
      minute.add(source, { batches: 1, events, deadLetters });
      line('debug', 'events committed')(event);
    },
    instrumentsDeleted: line('info', 'instruments deleted'),
    checksCommitted(event) {
      const { source, checks, deadLetters } = event;
      minute.add(source, { batches: 1, checks, deadLetters });
      line('debug', 'pre-trade checks committed')(event);
    },
    responseDiscarded: line('warn', 'response of the stream discarded, asking again'),
    notified: line('warn', 'notification written'),
    attemptFailed: line('warn', 'attempt failed, trying again'),
    writerLost: line('warn', 'writer lost, opening again'),
    sourcePaused: line('info', 'source paused'),
    sourceResumed: line('info', 'source resumed'),
    sourceStopped: line('info', 'source stopped as asked'),
    stateUnreadable: line('warn', 'value of the states topic ignored'),
    sourceFailed: line('error', 'source failed, an operator is needed'),
    adminListening: line('info', 'admin server listens'),
    stopped(event) {
      minute.report();
      line('info', 'stopped')(event);
    },
  };
}

/** Events as log lines: the message is fixed, the facts are fields. Batches are added up to one line a minute. */
export function logProcessorEvents(log: Log, later?: typeof afterwards): ProcessorEvents {
  const line = linesOf(log);
  const minute = createMinuteSummary((kind, sums) => line('info', 'priced within a minute')({ kind, ...sums }), later);
  return {
    processorStarted: ({ freshness: _, refreshed: __, ...event }) => line('info', 'price processor started')(event),
    processorJoined: line('info', 'group of the price processor joined'),
    partitionAssigned: line('info', 'partition assigned'),
    partitionLost: line('info', 'partition lost'),
    partitionWriterLost: line('warn', 'writer of a partition lost, opening again'),
    recordsUnreadable: line('warn', 'records that cannot be read'),
    batchPriced({ prices: _, ...event }) {
      const { kind, items, priced, records, problems, deadLetters, calls } = event;
      minute.add(kind, { batches: 1, items, priced, records, problems, deadLetters, calls });
      line('debug', 'batch priced')(event);
    },
    batchBisected: line('warn', 'bulk request to be divided, asking for its parts'),
    batchLimitLearnt: line('info', 'largest bulk request learnt'),
    bulkAttemptFailed: line('warn', 'bulk request failed, trying again'),
    instrumentFailing: line('debug', 'instrument gets no price'),
    processorAttemptFailed: line('warn', 'price processor failed, trying again'),
    processorRests: line('info', 'price processor rests as an operator wants'),
    processorFailed: line('error', 'price processor failed, an operator is needed'),
  };
}

/** A line for each event: the message is fixed. */
function linesOf(log: Log) {
  return (level: keyof Log, message: string) => (event: object) => log[level](roundedDurations(event), message);
}

/** Durations in whole milliseconds: fractions only make lines longer. */
function roundedDurations(event: object): Record<string, unknown> {
  const entries = Object.entries(event).map(([name, value]) => [
    name,
    name.endsWith('Ms') && typeof value === 'number' ? Math.round(value) : value,
  ]);
  return Object.fromEntries(entries);
}
