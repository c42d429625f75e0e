import type { GroupReader } from './group-reader.ts';
import type { LogReader } from './log-reader.ts';
import type { LogTail } from './log-tail.ts';
import type { EnsureOptions, TopicPartition, TopicReport, TopicSpecification } from './topic.ts';
import type { TransactionalWriter, WriterOptions } from './transactional-writer.ts';

/** All that the rest of the code sees of Kafka. Another client, or memory, can implement it. */
export interface KafkaCluster {
  /** A closed writer; `open` makes it usable. */
  transactionalWriter(transactionalId: string, options?: WriterOptions): TransactionalWriter;
  readonly logReader: LogReader;
  readonly logTail: LogTail;
  readonly groupReader: GroupReader;
  /**
   * The offset that a group has committed for a partition: the next one to read; null when none is committed. To be
   * called from the `readPosition` of the writer that commits it: before its fence, a commit may still be under way.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, also when the partition does not exist; or the signal's reason.
   */
  consumerOffset(groupId: string, partition: TopicPartition, signal: AbortSignal): Promise<bigint | null>;
  /**
   * Creates what is missing (when `create` is true) and verifies what is there; alters nothing.
   *
   * @throws ConnectorError TOPIC_MISSING, TOPIC_NOT_CREATED, TOPIC_MISMATCH (with the fix in its text), TOPIC_REFUSED when it may not be
   *   described, KAFKA_UNREACHABLE; of a single topic that may be refused it stands in the report instead.
   */
  ensureTopics(topics: readonly TopicSpecification[], options: EnsureOptions): Promise<TopicReport>;
  /** The cluster's own id. @throws ConnectorError KAFKA_UNREACHABLE. */
  clusterId(): Promise<string>;
  close(): Promise<void>;
}
