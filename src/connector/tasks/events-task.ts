import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord, type TargetTopic } from '../../kafka/target-topic.ts';
import type { SourceTask } from '../source-task.ts';
import { deadLetterCounts } from './dead-letter-counts.ts';
import type { FollowedStream } from './followed-stream.ts';
import { followerNotification } from './follower-notification.ts';
import { createFollowerTask, type FollowerTaskOptions } from './follower-task.ts';
import type { InstrumentsProvider } from './instruments-provider.ts';
import { totals } from './instruments-report.ts';

const WORDS = {
  suspected:
    'The events were not read for nearly as long as the provider keeps them. Whatever it still serves is taken; what ' +
    'it has dropped is lost for good.',
  proven: 'Events are lost for good; the source goes on with those that come from now on.',
  expired: 'events of that time; nothing mends them, an instruments source would only show their results',
  lost: 'events between the two offsets; nothing mends them, an instruments source would only show their results',
  restart: 'The source goes on with the events that come from now on.',
};

export interface EventsTaskOptions extends FollowerTaskOptions<DecodedEvent> {
  readonly instrumentEvents: TargetTopic;
  readonly deadLetters: TargetTopic;
}

/** The events source: every event of its filter on a topic of its own, once and in order, or a dead letter. */
export function createEventsTask(options: EventsTaskOptions): SourceTask {
  const { source, instrumentEvents, deadLetters, events } = options;
  return createFollowerTask(options, {
    kind: 'events',
    records: (rows, headers) =>
      rows.map((event) =>
        event.kind === 'event'
          ? keyedRecord(instrumentEvents, event.key, event.eventValue, headers)
          : deadLetterRecord({
              topic: deadLetters,
              source,
              targetTopic: instrumentEvents.name,
              input: event,
              provenance: headers,
            }),
      ),
    notification: (notification) => followerNotification(source, notification, WORDS),
    committed({ decoded, next }, commitMs) {
      const taken = decoded.rows.filter((event) => event.kind === 'event');
      events.eventsCommitted({
        source,
        events: taken.length,
        ...deadLetterCounts(decoded.rows),
        ...totals(decoded),
        since: next,
        commitMs,
        items: taken.map(({ type, name, isin, key }) => ({ type, name, isin, id: key })),
      });
    },
  });
}

/** The event stream of a provider of instruments; it starts where the list says, under the same filter. */
export function followEventStream(provider: Omit<InstrumentsProvider, 'page'>): FollowedStream<DecodedEvent> {
  return {
    start: async (signal) => ({ ...(await provider.streamStart(signal)), newest: null }),
    async after(since, signal) {
      if (since === null) throw new Error('The event stream was asked for without an offset.');
      const outcome = await provider.events(since, signal);
      return outcome.kind === 'events' ? { kind: 'stream', answer: outcome.answer } : outcome;
    },
  };
}
