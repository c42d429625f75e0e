import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { GroupReader } from './group-reader.ts';
import type { LogReader, LogTail } from './log-reader.ts';
import type { EnsureOptions, TopicPartition, TopicReport, TopicSpecification } from './topic.ts';
import type { TransactionalWriter, WriterOptions } from './transactional-writer.ts';

export interface CommittedOffset {
  /** The consumer offset: the offset of the next record to read. */
  readonly offset: bigint;
  /** The metadata that was committed with the offset; empty if there is no metadata. */
  readonly metadata: string;
}

export interface DescribedMember {
  /** The address from which the member connects. */
  readonly host: string;
  readonly partitions: readonly TopicPartition[];
}

/** Other folders use Kafka only through this interface, so another client library can replace kafkajs. */
export interface KafkaCluster {
  /** Returns a closed writer. Call `open` before use. */
  transactionalWriter(transactionalId: string, options?: WriterOptions): TransactionalWriter;
  readonly logReader: LogReader;
  readonly logTail: LogTail;
  readonly groupReader: GroupReader;
  /**
   * The committed consumer offset; null if no offset is committed, or if the offset belongs to an earlier topic of the
   * same name. If an open transaction has a newer offset, waits until the transaction ends. A writer calls this function
   * in its `readPosition`, which runs after the fence. Before the fence, an earlier writer can still commit.
   * @throws ConnectorError KAFKA_UNREACHABLE (also for a missing partition), TRANSACTION_HANGS, or the signal's reason.
   */
  consumerOffset(groupId: string, partition: TopicPartition, signal: AbortSignal): Promise<CommittedOffset | null>;
  /**
   * Creates the missing topics if `create` is true, then verifies all topics. Changes no existing topic.
   * @throws ConnectorError TOPIC_MISSING (with `fields.topics`), TOPIC_NOT_CREATED, TOPIC_MISMATCH, TOPIC_REFUSED or
   *   KAFKA_UNREACHABLE. The errors of topics in `mayBeRefused` are not thrown: the report contains these errors.
   */
  ensureTopics(topics: readonly TopicSpecification[], options: EnsureOptions): Promise<TopicReport>;
  /**
   * The topic ids by name. A topic that is created again has a new id. Missing and forbidden topics have no entry.
   * Before Kafka 2.8, the map is empty.
   * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
   */
  topicIds(topics: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** The members of a group; null during a rebalance. @throws ConnectorError KAFKA_UNREACHABLE. */
  groupMembers(groupId: string): Promise<readonly DescribedMember[] | null>;
  /** The id of the cluster. @throws ConnectorError KAFKA_UNREACHABLE. */
  clusterId(): Promise<string>;
  /** The monotonic time of the last response from a broker; null before the first. `LogTail.follow` gets one at least every 5 s. */
  answeredMs(): number | null;
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 2_000;

/** Rejects with the signal's reason, or with TOPIC_REPLACED (field `topics`) if a topic has a new id. */
export async function untilReplaced(options: {
  readonly kafka: Pick<KafkaCluster, 'topicIds'>;
  /** The topic ids that `KafkaCluster.topicIds` returned before the first read; null: the first id that is found. */
  readonly known: ReadonlyMap<string, string | null>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<never> {
  const { kafka, known, clock, signal } = options;
  const ids = new Map(known);
  if (known.size === 0) return untilAborted(new Promise<never>(() => {}), signal);
  for (; ; await clock.sleep(CHECK_EVERY_MS, signal)) {
    // While brokers do not answer, the topics count as unchanged.
    const found = await kafka.topicIds([...ids.keys()], signal).catch(() => new Map<string, string>());
    signal.throwIfAborted();
    for (const [name, id] of found) ids.set(name, ids.get(name) ?? id);
    const topics = [...found].flatMap(([name, id]) => (ids.get(name) === id ? [] : [name]));
    if (topics.length === 0) continue;
    const text = `${topics.join(' and ')}: deleted and created again. The earlier records are gone.`;
    throw new ConnectorError('TOPIC_REPLACED', text, { fields: { topics } });
  }
}
