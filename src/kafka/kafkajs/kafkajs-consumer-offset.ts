import type { Kafka } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { TopicPartition } from '../topic.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

/** Asks the group's coordinator; see `KafkaCluster.consumerOffset`. */
export async function fetchConsumerOffset(
  { kafka, tuning }: { readonly kafka: Kafka; readonly tuning: KafkaTuning },
  groupId: string,
  { topic, partition }: TopicPartition,
  signal: AbortSignal,
): Promise<bigint | null> {
  signal.throwIfAborted();
  const ask = async () => {
    const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
    try {
      await admin.connect();
      return await admin.fetchOffsets({ groupId, topics: [topic] });
    } finally {
      // Not earlier: a client that is disconnected while it connects stays connected.
      admin.disconnect().catch(() => {});
    }
  };
  try {
    const found = (await untilAborted(ask(), signal)).find((one) => one.topic === topic);
    const committed = found?.partitions.find((one) => one.partition === partition)?.offset;
    if (committed === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
    // -1 is no offset. kafkajs commits -2, the beginning of the log, when the position has fallen out of the log.
    return BigInt(committed) < 0n ? null : BigInt(committed);
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectorError(
      'KAFKA_UNREACHABLE',
      `The offset of group ${groupId} in partition ${partition} of ${topic} could not be read (${kafkaReason(cause)}). ` +
        'Check kafka.brokers and that the topic exists.',
      { cause, fields: { groupId, topic, partition } },
    );
  }
}
