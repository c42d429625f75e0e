import type { LogReader } from './log-reader.ts';
import type { LogTail } from './log-tail.ts';
import type { TopicReport, TopicSpecification } from './topic.ts';
import type { TransactionalWriter, WriterOptions } from './transactional-writer.ts';

/** All that the rest of the code sees of Kafka. Another client, or memory, can stand behind it. */
export interface KafkaCluster {
  /** A closed writer; `open` makes it usable. */
  transactionalWriter(transactionalId: string, options?: WriterOptions): TransactionalWriter;
  readonly logReader: LogReader;
  readonly logTail: LogTail;
  /**
   * Creates what is missing (when `create` is true) and verifies what is there; alters nothing.
   *
   * @throws ConnectorError TOPIC_MISSING, TOPIC_MISMATCH (with the fix in its text), KAFKA_UNREACHABLE.
   */
  ensureTopics(topics: readonly TopicSpecification[], options: { readonly create: boolean }): Promise<TopicReport>;
  close(): Promise<void>;
}
