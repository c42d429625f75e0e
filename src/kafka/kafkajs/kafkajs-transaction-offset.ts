import type { Transaction } from 'kafkajs';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { retry } from '../../support/retry.ts';
import type { ConsumerOffset } from '../transactional-writer.ts';
import { isConcurrent } from './kafkajs-errors.ts';
import type { KafkaTuning } from './tuning.ts';

/**
 * Adds a consumer offset to a transaction. Where that is the transaction's first request, the coordinator may still end
 * the transaction before, and refuses. kafkajs repeats such a request for records and not for offsets, so nearly every
 * second transaction of an offset alone failed when it came close behind another. Such a refusal has no effect, and the
 * same offset twice in a transaction is the same as once: this is the one refusal that does not cost the producer.
 *
 * @param mayWrite called before each request; throws when the transaction was given up.
 */
export async function sendConsumerOffset(
  { clock, random, tuning }: { readonly clock: Clock; readonly random: Random; readonly tuning: KafkaTuning },
  transaction: Transaction,
  { groupId, topic, partition, offset }: ConsumerOffset,
  mayWrite: () => void,
): Promise<void> {
  const topics = [{ topic, partitions: [{ partition, offset: String(offset) }] }];
  const backOff = { initialMs: tuning.initialRetryMs, maximumMs: tuning.maxRetryMs };
  const send = async () => {
    mayWrite();
    await transaction.sendOffsets({ consumerGroupId: groupId, topics });
  };
  return retry(send, { backOff, attempts: tuning.retries + 1, mayRetry: isConcurrent, clock, random });
}
