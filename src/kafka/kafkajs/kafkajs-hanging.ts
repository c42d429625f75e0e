import type { Transaction } from 'kafkajs';
import type { TopicPartition } from '../topic.ts';
import type { ConsumerOffset } from '../transactional-writer.ts';
import { topicsOf } from './kafkajs-errors.ts';
import { sendRound } from './send-round.ts';

/*
 * A broker without replicas that is killed hard can lose the end of its transaction log although it had acknowledged it.
 * It then does not know a transaction whose records are in the partitions, and no fence ends it: the records hang, hidden
 * from the reading of the position, until the next transaction of the same id ends. If that one is committed, they are
 * committed too, and a page that was written again exists twice. So before any position is read, a transaction writes to
 * the partitions and is aborted, which aborts the hanging records as well.
 */

const NOT_COMPRESSED = 0;
const KEY = Buffer.from('["",{"settles":true}]');

/** The record for the aborted transaction could not be written to this topic. */
export class AbortHangingFailed extends Error {
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic} takes no records`, { cause });
    this.topic = topic;
  }
}

/**
 * All partitions by one request to each broker, or one after the other: then a failure without the name of a topic, as
 * when a broker does not answer, shows which one takes no records.
 */
export type TouchingWay = 'together' | 'oneByOne';

/**
 * Writes a record to every partition, and commits the consumer offset, which writes to the broker's partition of offsets.
 * All of them, because no request shows whether records hang there, and that depends on where the transaction was cut.
 * The caller aborts the transaction with all records; so the value of the offset does not matter.
 */
export async function touchAll(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  consumerOffset: Omit<ConsumerOffset, 'offset'> | undefined,
  way: TouchingWay,
): Promise<void> {
  const rounds = way === 'together' ? [partitions] : partitions.map((each) => [each]);
  for (const round of rounds) {
    if (round.length === 0) continue;
    await touch(transaction, round).catch((cause: unknown) => {
      const topic = topicsOf(cause)?.[0] ?? (way === 'oneByOne' ? round[0]?.topic : undefined);
      throw topic === undefined ? cause : new AbortHangingFailed(topic, cause);
    });
  }
  if (consumerOffset === undefined) return;
  const { groupId, topic, partition } = consumerOffset;
  const topics = [{ topic, partitions: [{ partition, offset: '0' }] }];
  await transaction.sendOffsets({ consumerGroupId: groupId, topics });
}

async function touch(transaction: Transaction, partitions: readonly TopicPartition[]): Promise<void> {
  const round = partitions.map(({ topic, partition }) => {
    return { topic, partition, records: [{ topic, partition, key: KEY, value: null, headers: {} }] };
  });
  await sendRound(transaction, round, NOT_COMPRESSED);
}
