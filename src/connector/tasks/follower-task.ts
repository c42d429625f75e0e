import type { NotificationContent } from '../../avro/notification-encoder.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { keyedRecord, type TargetTopic } from '../../kafka/target-topic.ts';
import type { ConnectorEvents, Polled } from '../../observability/connector-events.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { SourceTask, SourceTurn } from '../source-task.ts';
import type { FollowerCore } from '../stream/follower-core.ts';
import type { FollowerDecision, FollowerNotification, FollowerRequest } from '../stream/follower-messages.ts';
import { writeFollowerOffset } from '../stream/follower-offset.ts';
import type { FollowedResponse, FollowedStream } from './followed-stream.ts';

/** What every task that follows one stream is given. */
export interface FollowerTaskOptions<Row> {
  readonly source: string;
  readonly core: FollowerCore;
  readonly stream: FollowedStream<Row>;
  /** The path that is asked; names the input in headers. */
  readonly endpoint: string;
  readonly notifications: TargetTopic;
  readonly encodeNotification: (notification: NotificationContent, signal: AbortSignal) => Promise<Buffer>;
  readonly events: ConnectorEvents;
  readonly clock: Clock;
  readonly random: Random;
}

/** What one kind of stream adds. */
export interface FollowerRows<Row> {
  readonly kind: Polled['endpoint'];
  /** What the rows of one answer become, in their order. */
  records(rows: readonly Row[], headers: Readonly<Record<string, string>>): OutgoingRecord[];
  /** What a notification says about this kind of rows. */
  notification(notification: FollowerNotification): NotificationContent;
  /** An answer with rows is committed. */
  committed(answer: FollowedResponse<Row>, commitMs: number): void;
}

interface Asked<Row> {
  readonly decision: FollowerDecision;
  /** The answer of the stream that the decision is about, if it is about one. */
  readonly answer: FollowedResponse<Row> | null;
}

/**
 * A source that follows one stream. The core decides what to ask and what an answer means; this asks, and puts the
 * records of a decision together: the rows and the notifications.
 */
export function createFollowerTask<Row>(options: FollowerTaskOptions<Row>, rows: FollowerRows<Row>): SourceTask {
  const { source, core, stream, events, clock } = options;

  async function ask(request: Exclude<FollowerRequest, { kind: 'wait' }>, signal: AbortSignal): Promise<Asked<Row>> {
    const answered = (answer: Parameters<typeof core.answered>[0]) => core.answered(answer, clock.monotonicMs());
    switch (request.kind) {
      case 'start':
        return { decision: answered({ kind: 'start', ...(await stream.start(signal)) }), answer: null };
      case 'verifyStart': {
        const outcome = await stream.after(request.since, signal);
        const items = outcome.kind === 'stream' ? outcome.answer.decoded.rows.length : 0;
        return { decision: answered({ kind: 'verifyStart', taken: outcome.kind === 'stream', items }), answer: null };
      }
      case 'stream': {
        const outcome = await stream.after(request.since, signal);
        if (outcome.kind === 'refused') return { decision: answered(outcome), answer: null };
        const { answer } = outcome;
        const { decoded, next, nextId, time } = answer;
        return { decision: answered({ kind: 'stream', items: decoded.rows.length, next, nextId, time }), answer };
      }
    }
  }

  async function recordsOf(
    request: FollowerRequest,
    { decision, answer }: Asked<Row>,
    signal: AbortSignal,
  ): Promise<OutgoingRecord[]> {
    const { offset, notifications, writes } = decision;
    if (offset === null) return [];
    const records = writes && answer !== null ? rows.records(answer.decoded.rows, provenance(request, answer)) : [];
    for (const notification of notifications) {
      const value = await options.encodeNotification(rows.notification(notification), signal);
      records.push(keyedRecord(options.notifications, source, value, {}));
    }
    return records;
  }

  function provenance(request: FollowerRequest, { time }: FollowedResponse<Row>): Record<string, string> {
    const since = request.kind === 'stream' ? request.since : null;
    return {
      'spc-source': source,
      ...(since !== null && { 'spc-since': since }),
      'spc-endpoint': options.endpoint,
      'spc-received': new Date(time.dateMs).toISOString(),
    };
  }

  const place = () => ({
    source,
    since: core.offset?.since ?? null,
    secondsToRetentionCliff: core.secondsToRetentionCliff(clock.monotonicMs(), clock.wallMs()),
  });
  events.sourceStarted(place());

  return {
    async poll(signal): Promise<SourceTurn> {
      const request = core.next(clock.monotonicMs());
      if (request.kind === 'wait') {
        // A tenth of jitter, so that many clients do not ask at the same moment; too early only asks once more.
        return {
          records: [],
          offset: null,
          waitMs: Math.ceil(request.ms * (1 - options.random() / 10)),
          committed() {},
        };
      }
      const startedMs = clock.monotonicMs();
      const asked = await ask(request, signal);
      const durationMs = clock.monotonicMs() - startedMs;
      const { decision, answer } = asked;
      const committed = (commitMs: number) => {
        decision.committed();
        if (answer !== null) {
          const { length } = answer.decoded.rows;
          events.polled({ ...place(), endpoint: rows.kind, rows: length, caughtUp: core.isCaughtUp, durationMs });
        }
        if (decision.discarded !== null) events.answerDiscarded({ source, why: decision.discarded });
        if (decision.writes && answer !== null) rows.committed(answer, commitMs);
        reportNotifications(options, rows, decision.notifications);
      };
      const records = await recordsOf(request, asked, signal);
      const offset = decision.offset && writeFollowerOffset(decision.offset);
      if (offset === null) committed(0);
      return { records, offset, waitMs: 0, committed };
    },
  };
}

function reportNotifications<Row>(
  { source, events }: Pick<FollowerTaskOptions<Row>, 'source' | 'events'>,
  rows: Pick<FollowerRows<Row>, 'notification'>,
  notifications: readonly FollowerNotification[],
): void {
  for (const notification of notifications) {
    events.notified({ source, kind: notification.kind, text: rows.notification(notification).message });
  }
}
