import type { Kafka, Transaction } from 'kafkajs';
import type { TopicPartition } from './group-reader.ts';
import type { ConsumerOffset } from './transactional-writer.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

/*
 * A broker without replicas that is killed hard can lose the end of its transaction log although it had answered. It then
 * knows nothing of a transaction whose records lie in the partitions, and no fence ends it: the records hang, unseen by
 * the reading of the position, until the next transaction of the same id ends. Were that one committed, they would be
 * too, and the page that was written again would be there twice. So before any position is read, a transaction touches
 * the partitions and is aborted, and what hung there is aborted with it.
 */

const KEY = Buffer.from('["",{"settles":true}]');

/**
 * Writes a record to the first partition, which goes with the transaction. Where it lands shows whether something hangs
 * in front of it; then all other partitions are touched as well. The caller aborts the transaction.
 *
 * @returns how many records hang in the first partition.
 */
export async function touchHanging(
  { kafka, tuning }: { readonly kafka: Kafka; readonly tuning: KafkaTuning },
  transaction: Transaction,
  [first, ...others]: readonly TopicPartition[],
): Promise<bigint> {
  if (first === undefined) return 0n;
  const stable = await lastStableOffset(kafka, tuning, first);
  const hanging = (await touch(transaction, first)) - stable;
  if (hanging > 0n) for (const partition of others) await touch(transaction, partition);
  return hanging;
}

/**
 * Touches everything, and with a commit of the consumer offset the partition where the broker keeps those: whether one of
 * them hangs can't be asked for. Which offset it is does not matter, as the caller aborts the transaction.
 */
export async function touchAll(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  { groupId, topic, partition }: Omit<ConsumerOffset, 'offset'>,
): Promise<void> {
  for (const each of partitions) await touch(transaction, each);
  const topics = [{ topic, partitions: [{ partition, offset: '0' }] }];
  await transaction.sendOffsets({ consumerGroupId: groupId, topics });
}

/** @returns the offset that the record got. */
async function touch(transaction: Transaction, { topic, partition }: TopicPartition): Promise<bigint> {
  const messages = [{ key: KEY, value: null, partition }];
  const [answer] = await transaction.send({ topic, messages, acks: -1 });
  if (answer?.partition !== partition || answer.errorCode !== 0 || answer.baseOffset === undefined) {
    throw new Error(`partition ${partition} of topic ${topic} did not acknowledge a record (does it exist?)`);
  }
  return BigInt(answer.baseOffset);
}

async function lastStableOffset(kafka: Kafka, tuning: KafkaTuning, { topic, partition }: TopicPartition) {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    const ends = (await admin.fetchTopicOffsets(topic)).find((found) => found.partition === partition);
    if (ends === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
    return BigInt(ends.high);
  } finally {
    admin.disconnect().catch(() => {});
  }
}
