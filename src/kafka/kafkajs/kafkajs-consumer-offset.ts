import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import { retry } from '../../support/retry.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { CommittedOffset, KafkaCluster } from '../cluster.ts';
import type { TopicPartition } from '../topic.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { transactionHangs } from './kafkajs-hanging.ts';
import { askBroker, type Cluster, COORDINATOR_MOVES, type Decoder, endOf, kafkajsError } from './kafkajs-internals.ts';
import { type KafkaTuning, longestOpenMs } from './tuning.ts';

/*
 * Reads the offset that a group committed for a partition: OffsetFetch, version 7 (brokers from 2.5). kafkajs supports
 * only version 4. While a transaction with a newer offset ends, version 4 can return an old offset. Version 7 gives an error.
 */

const OFFSET_FETCH = { apiKey: 9, apiVersion: 7, apiName: 'OffsetFetch' };
const UNSTABLE_OFFSET_COMMIT = 88;
const PASSING: readonly number[] = [...COORDINATOR_MOVES, UNSTABLE_OFFSET_COMMIT];
const BACK_OFF = { initialMs: 5, maximumMs: 200 };
const OFFSETS_TOPIC = '__consumer_offsets';

export type CoordinatedCluster = Pick<
  Cluster,
  'connect' | 'disconnect' | 'addTargetTopic' | 'findTopicPartitionMetadata' | 'findGroupCoordinator'
>;

class NotYet extends Error {
  readonly code: number;

  constructor(code: number) {
    super('the coordinator has no stable offset yet', { cause: kafkajsError(code) });
    this.code = code;
  }
}

interface ConsumerOffsetParts extends Pick<KafkaCluster, 'topicIds'> {
  readonly open: () => CoordinatedCluster;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
}

export async function fetchConsumerOffset(
  { open, topicIds, tuning, clock }: ConsumerOffsetParts,
  groupId: string,
  { topic, partition }: TopicPartition,
  signal: AbortSignal,
): Promise<CommittedOffset | null> {
  signal.throwIfAborted();
  const cluster = open();
  const untilMs = clock.monotonicMs() + longestOpenMs(tuning);
  const mayRetry = (error: unknown) => error instanceof NotYet && clock.monotonicMs() < untilMs;
  const ask = async () => {
    await cluster.connect();
    await cluster.addTargetTopic(topic);
    const known = cluster.findTopicPartitionMetadata(topic).some(({ partitionId }) => partitionId === partition);
    if (!known) throw new Error(`topic ${topic} has no partition ${partition}`);
    return retry(() => askOnce(cluster, groupId, { topic, partition }), {
      backOff: BACK_OFF,
      mayRetry,
      clock,
      random: () => 1,
      signal,
    });
  };
  const asked = ask();
  // Called after `ask` has ended: a disconnect while kafkajs connects would leave the connection open.
  const over = () => cluster.disconnect().catch(() => {});
  asked.then(over, over);
  try {
    const [{ offset, metadata }, ids] = await Promise.all([untilAborted(asked, signal), topicIds([topic], signal)]);
    // The metadata is the topic's id, a space, and the writer's text. Older versions of the connector committed no id.
    const [id = '', ...rest] = metadata.split(' ');
    if (id !== '' && id !== (ids.get(topic) ?? id)) return null;
    // -1: no offset is committed. kafkajs commits -2 (the beginning of the log) after an OFFSET_OUT_OF_RANGE.
    return offset < 0n ? null : { offset, metadata: rest.join(' ') };
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof NotYet && cause.code === UNSTABLE_OFFSET_COMMIT) {
      throw transactionHangs(OFFSETS_TOPIC, [], longestOpenMs(tuning));
    }
    throw new ConnectorError(
      'KAFKA_UNREACHABLE',
      `The offset of group ${groupId} in partition ${partition} of ${topic} could not be read (${kafkaReason(cause)}). ` +
        'Check kafka.brokers and that the topic exists.',
      { cause, fields: { groupId, topic, partition } },
    );
  }
}

async function askOnce(cluster: CoordinatedCluster, groupId: string, of: TopicPartition): Promise<CommittedOffset> {
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const { errorCode, ...found } = await askBroker(
    coordinator,
    OFFSET_FETCH,
    (request, element) =>
      request
        .writeUVarIntString(groupId)
        .writeUVarIntArray([
          endOf(
            element()
              .writeUVarIntString(of.topic)
              .writeUVarIntArray([element().writeInt32(of.partition)]),
          ),
        ])
        .writeBoolean(true),
    readOffset,
  );
  if (PASSING.includes(errorCode)) throw new NotYet(errorCode);
  if (errorCode !== 0) throw kafkajsError(errorCode);
  return found;
}

/** The offset is negative if no offset is committed. The metadata begins with the topic's id. */
function readOffset(from: Decoder): CommittedOffset & { readonly errorCode: number } {
  let found = { offset: -1n, metadata: '', errorCode: 0 };
  // The array is empty if the broker refuses the whole group.
  from.readUVarIntArray(() => {
    from.readUVarIntString();
    from.readUVarIntArray(() => {
      from.readInt32();
      const offset = from.readInt64();
      from.readInt32();
      found = { offset, metadata: from.readUVarIntString() ?? '', errorCode: from.readInt16() };
      from.readTaggedFields();
    });
    from.readTaggedFields();
  });
  return { ...found, errorCode: from.readInt16() || found.errorCode };
}
