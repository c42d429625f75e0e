import { ConnectorError } from '../../errors.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { TopicPartition } from '../topic.ts';
import { askAdmin } from './ask-admin.ts';
import { kafkaReason } from './kafkajs-errors.ts';

/** Asks the group's coordinator; see `KafkaCluster.consumerOffset`. */
export async function fetchConsumerOffset(
  client: Parameters<typeof askAdmin>[0],
  groupId: string,
  { topic, partition }: TopicPartition,
  signal: AbortSignal,
): Promise<bigint | null> {
  signal.throwIfAborted();
  const ask = () => askAdmin(client, (admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
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
