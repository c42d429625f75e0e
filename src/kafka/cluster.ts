import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { GroupReader } from './group-reader.ts';
import type { LogReader, LogTail } from './log-reader.ts';
import type { EnsureOptions, TopicPartition, TopicReport, TopicSpecification } from './topic.ts';
import type { TransactionalWriter, WriterOptions } from './transactional-writer.ts';

export interface CommittedOffset {
  /** The next one to read. */
  readonly offset: bigint;
  /** Of the same transaction; empty for none. */
  readonly metadata: string;
}

export interface DescribedMember {
  /** The address from which it connects. */
  readonly host: string;
  readonly partitions: readonly TopicPartition[];
}

/** All that the rest of the code sees of Kafka. Another client, or memory, can implement it. */
export interface KafkaCluster {
  /** A closed writer; `open` makes it usable. */
  transactionalWriter(transactionalId: string, options?: WriterOptions): TransactionalWriter;
  readonly logReader: LogReader;
  readonly logTail: LogTail;
  readonly groupReader: GroupReader;
  /**
   * Null when none is committed, or one for an earlier topic of the same name. Waits until a transaction that commits another
   * one has ended. To be called from the `readPosition` of its writer: before the fence, a commit may still be under way.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE (also without the partition), TRANSACTION_HANGS, or the signal's reason.
   */
  consumerOffset(groupId: string, partition: TopicPartition, signal: AbortSignal): Promise<CommittedOffset | null>;
  /**
   * Creates what is missing (when `create` is true) and verifies what is there; alters nothing.
   *
   * @throws ConnectorError TOPIC_MISSING, TOPIC_NOT_CREATED, TOPIC_MISMATCH, TOPIC_REFUSED, KAFKA_UNREACHABLE, unless the topic
   *   may be refused: then the report has it.
   */
  ensureTopics(topics: readonly TopicSpecification[], options: EnsureOptions): Promise<TopicReport>;
  /**
   * By name. A topic that is created again has another id. Missing and forbidden topics are left out; at brokers before 2.8 all.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
   */
  topicIds(topics: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** The members of a group; null while it rebalances. @throws ConnectorError KAFKA_UNREACHABLE. */
  groupMembers(groupId: string): Promise<readonly DescribedMember[] | null>;
  /** The cluster's own id. @throws ConnectorError KAFKA_UNREACHABLE. */
  clusterId(): Promise<string>;
  /** When a broker last answered, by the monotonic clock; null before the first time. A follower asks every 5 s at least. */
  answeredMs(): number | null;
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 2_000;

/** Rejects with TOPIC_REPLACED (field `topics`) once a topic's id is not the `known` one; or the signal's reason. */
export async function untilReplaced(options: {
  readonly kafka: Pick<KafkaCluster, 'topicIds'>;
  /** As `KafkaCluster.topicIds` gave them before anything was read. */
  readonly known: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<never> {
  const { kafka, known, clock, signal } = options;
  if (known.size === 0) return untilAborted(new Promise<never>(() => {}), signal);
  for (;;) {
    await clock.sleep(CHECK_EVERY_MS, signal);
    // Brokers that do not answer say nothing about topics.
    const found = await kafka.topicIds([...known.keys()], signal).catch(() => known);
    signal.throwIfAborted();
    const topics = [...known].flatMap(([name, id]) => ((found.get(name) ?? id) === id ? [] : [name]));
    if (topics.length === 0) continue;
    const text = `${topics.join(' and ')}: deleted and created again by somebody else. What is there now is read again.`;
    throw new ConnectorError('TOPIC_REPLACED', text, { fields: { topics } });
  }
}
