import { randomUUID } from 'node:crypto';
import { createNotificationEncoder } from '../avro/notification-encoder.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import { sourceFailed } from '../connector/tasks/notification-content.ts';
import { ConnectorError } from '../errors.ts';
import { keyedRecord } from '../kafka/target-topic.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import type { Context } from './context.ts';

/** Puts failed sources on the notifications topic. */
export interface FailureNotices {
  /** Begins to write a notification; returns at once. */
  tell(failure: { readonly source: string; readonly err: unknown }): void;
  /** Resolves when all that was told is written, or could not be. */
  settled(): Promise<void>;
}

/**
 * A notice has a transaction of its own, of a writer of its own, since the source's may be what has failed. It is best
 * effort: what cannot be written stands in the log all the same, and a source that failed is not failed further by it.
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
    tell({ source, err }) {
      if (!(err instanceof ConnectorError)) return;
      const written = write(source, err, clock.wallMs()).catch(() => {});
      pending.add(written);
      written.finally(() => pending.delete(written));
    },
    async settled() {
      await Promise.all(pending);
    },
  };
}
