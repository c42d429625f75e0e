import type { CompressionTypes, Message, Transaction } from 'kafkajs';
import type { PlannedSend } from './send-plan.ts';

/**
 * Sends one batch to each partition, all at once.
 *
 * @returns when the broker appended them, by its clock; null where the topics keep our time instead.
 * @throws Error when a partition did not acknowledge its batch, and whatever the client throws. Whether anything was
 *   written is unknown then.
 */
export async function sendRound(
  transaction: Transaction,
  round: readonly Pick<PlannedSend, 'topic' | 'partition' | 'records'>[],
  compression: CompressionTypes,
): Promise<number | null> {
  const topicMessages = round.map(({ topic, records }) => ({ topic, messages: records as unknown as Message[] }));
  const responses = await transaction.sendBatch({ topicMessages, acks: -1, compression });
  const acknowledged = new Set<string>();
  for (const { topicName, partition, errorCode } of responses) {
    if (errorCode === 0) acknowledged.add(`${topicName}/${partition}`);
  }
  for (const { topic, partition } of round) {
    if (acknowledged.has(`${topic}/${partition}`)) continue;
    const text = `partition ${partition} of topic ${topic} did not acknowledge the records (does it exist?)`;
    throw Object.assign(new Error(text), { topic });
  }
  const appendedMs = Math.max(...responses.map(({ logAppendTime }) => Number(logAppendTime ?? -1)));
  return appendedMs > 0 ? appendedMs : null;
}
