import type { Transaction } from 'kafkajs';
import type { TopicPartition } from '../topic.ts';
import type { ConsumerOffset } from '../transactional-writer.ts';

/*
 * A broker without replicas that is killed hard can lose the end of its transaction log although it had answered. It then
 * knows nothing of a transaction whose records lie in the partitions, and no fence ends it: the records hang, unseen by
 * the reading of the position, until the next transaction of the same id ends. Were that one committed, they would be
 * too, and the page that was written again would be there twice. So before any position is read, a transaction touches
 * the partitions and is aborted, and what hung there is aborted with it.
 */

const KEY = Buffer.from('["",{"settles":true}]');

/** A record that was to be aborted could not even be written to this topic. */
export class AbortHangingFailed extends Error {
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic} takes no records`, { cause });
    this.topic = topic;
  }
}

/**
 * Writes a record to every partition, and with a commit of the consumer offset to the one where the broker keeps those:
 * whether something hangs there can't be asked for, and where the transaction was cut off decides which of them it is.
 * The records go with the transaction, which the caller aborts; so it does not matter which offset it is.
 */
export async function touchAll(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  consumerOffset: Omit<ConsumerOffset, 'offset'> | undefined,
): Promise<void> {
  for (const each of partitions) {
    await touch(transaction, each).catch((cause: unknown) => {
      throw new AbortHangingFailed(each.topic, cause);
    });
  }
  if (consumerOffset === undefined) return;
  const { groupId, topic, partition } = consumerOffset;
  const topics = [{ topic, partitions: [{ partition, offset: '0' }] }];
  await transaction.sendOffsets({ consumerGroupId: groupId, topics });
}

async function touch(transaction: Transaction, { topic, partition }: TopicPartition): Promise<void> {
  const messages = [{ key: KEY, value: null, partition }];
  const [answer] = await transaction.send({ topic, messages, acks: -1 });
  if (answer?.partition !== partition || answer.errorCode !== 0) {
    throw new Error(`partition ${partition} of topic ${topic} did not acknowledge a record (does it exist?)`);
  }
}
