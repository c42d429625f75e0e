import { randomUUID } from 'node:crypto';
import { ConnectorError, remedyOf } from '../errors.ts';
import { keyedRecord } from '../kafka/record.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { createNotificationEncoder, type NotificationContent } from '../records/avro/record-encoder.ts';
import { readSchemaText } from '../records/avro/schema-files.ts';
import type { Context } from './context.ts';

/** Puts failed sources on the notifications topic. */
export interface FailureNotices {
  /** Begins to write a notification; returns at once. */
  report(failure: { readonly source: string; readonly err: unknown }): void;
  /** Resolves when every reported failure is written, or could not be. */
  finished(): Promise<void>;
}

/**
 * A notice has a transaction of its own, of a writer of its own, since the source's may be what has failed. It is best
 * effort: what cannot be written is in the log all the same, and does not affect the source further.
 */
export function createFailureNotices(
  options: Pick<Context, 'kafka' | 'registry' | 'clock'> & {
    readonly prefix: string;
    readonly topic: TopicSpecification;
    readonly signal: AbortSignal;
  },
): FailureNotices {
  const { prefix, topic, kafka, registry, clock, signal } = options;
  const pending = new Set<Promise<void>>();

  async function write(source: string, error: ConnectorError, at: number): Promise<void> {
    const schema = readSchemaText('Notification');
    const schemaId = await registry.schemaId(`${topic.name}-value`, schema, signal);
    const value = createNotificationEncoder({ schema, schemaId }).encode(sourceFailed(source, error, at));
    const writer = kafka.transactionalWriter(`${prefix}-admin-${randomUUID()}`);
    try {
      await writer.open(async () => {}, signal);
      await writer.commit({ records: [keyedRecord(topic, source, value, {})] });
    } finally {
      await writer.close();
    }
  }

  return {
    report({ source, err }) {
      if (!(err instanceof ConnectorError)) return;
      const written = write(source, err, clock.wallMs()).catch(() => {});
      pending.add(written);
      written.finally(() => pending.delete(written));
    },
    async finished() {
      await Promise.all(pending);
    },
  };
}

/** A source that has stopped for good, by our own clock: the provider's says nothing about it. */
function sourceFailed(source: string, error: ConnectorError, at: number): NotificationContent {
  return {
    source,
    kind: 'source-failed',
    at,
    message: `The source has stopped, and keeps its place. ${error.message}`,
    why: `${remedyOf(error, source)} The time is that of the connector's own clock.`,
    errorCode: error.code,
  };
}
