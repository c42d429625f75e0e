import type { NotificationContent } from '../../avro/notification-encoder.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { Polled } from '../../observability/connector-events.ts';
import type { SourceTask } from '../source-task.ts';
import type { FollowerCore } from '../stream/follower-core.ts';
import type {
  FollowerAnswer,
  FollowerDecision,
  FollowerNotification,
  FollowerRequest,
} from '../stream/follower-messages.ts';
import { writeFollowerOffset } from '../stream/follower-offset.ts';
import { askStart, askStream, type CoreTaskOptions, createCoreTask, provenance } from './core-task.ts';
import type { FollowedResponse, FollowedStream } from './followed-stream.ts';

/** What every task that follows one stream is given. */
export interface FollowerTaskOptions<Row> extends CoreTaskOptions {
  readonly core: FollowerCore;
  readonly stream: FollowedStream<Row>;
  /** The path that is asked; names the input in headers. */
  readonly endpoint: string;
}

/** What one kind of stream adds. */
export interface FollowerRows<Row> {
  readonly kind: Polled['endpoint'];
  /** What the rows of one response become, in their order. */
  records(rows: readonly Row[], headers: Readonly<Record<string, string>>): OutgoingRecord[];
  /** What a notification says about this kind of rows. */
  notification(notification: FollowerNotification): NotificationContent;
  /** A response with rows is committed. */
  committed(answer: FollowedResponse<Row>, commitMs: number): void;
}

type Request = Exclude<FollowerRequest, { kind: 'wait' }>;

/** A source that follows one stream: every row of it becomes a record or a dead letter. */
export function createFollowerTask<Row>(options: FollowerTaskOptions<Row>, rows: FollowerRows<Row>): SourceTask {
  const { source, core, stream, endpoint, events, clock } = options;
  const answered = (answer: FollowerAnswer) => core.answered(answer, clock.monotonicMs());
  return createCoreTask<FollowerDecision, Row, Request>(options, {
    core,
    next: (nowMs, listFreeMs) => ({ request: core.next(nowMs, listFreeMs) }),
    ofList(request) {
      if (request.kind !== 'start' || !core.startsFromList) return undefined;
      return (signal) => askStart({ stream, clock }, answered, signal);
    },
    ask: (request, signal) => askStream({ stream, endpoint: rows.kind }, request, answered, signal),
    records({ decision: { writes }, answer }) {
      if (!writes || answer === null) return [];
      const { decoded, time } = answer;
      return rows.records(
        decoded.rows,
        provenance({ source, since: core.offset?.since ?? null, endpoint, dateMs: time.dateMs }),
      );
    },
    notification: (notification) => rows.notification(notification),
    writeOffset: writeFollowerOffset,
    committed({ decision, answer }, commitMs) {
      if (decision.writes && answer !== null) rows.committed(answer, commitMs);
      for (const notification of decision.notifications) {
        const { message: text } = rows.notification(notification);
        events.notified({ source, kind: notification.kind, text });
      }
    },
  });
}
