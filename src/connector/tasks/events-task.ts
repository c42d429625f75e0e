import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord, type TargetTopic } from '../../kafka/target-topic.ts';
import type { SourceTask } from '../source-task.ts';
import { eventHeaders } from './event-headers.ts';
import { followerNotification } from './follower-notification.ts';
import { createFollowerTask, type FollowerTaskOptions } from './follower-task.ts';
import { eventsReport } from './response-report.ts';

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
    records(rows, headers) {
      const headersOf = eventHeaders(headers);
      return rows.map((event) =>
        event.kind === 'event'
          ? keyedRecord(instrumentEvents, event.key, event.eventValue, headersOf(event))
          : deadLetterRecord({
              topic: deadLetters,
              source,
              targetTopic: instrumentEvents.name,
              input: event,
              provenance: headers,
            }),
      );
    },
    notification: (notification) => followerNotification(source, notification, WORDS),
    committed: (answer, commitMs) => events.eventsCommitted(eventsReport(source, answer, commitMs)),
  });
}
