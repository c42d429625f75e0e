import { backOffMs } from '../../../support/back-off.ts';
import type { Clock } from '../../../support/clock.ts';
import { retry } from '../../../support/retry.ts';
import {
  type Broker,
  type Cluster,
  type EosManager,
  inKafkajs,
  kafkajsError,
  type PartitionResponse,
  type Retrier,
  type SendMessages,
} from '../kafkajs-internals.ts';
import { BufferPool, encodeProduceRequest, type PartitionRecords, type TopicRecords } from './produce-request.ts';
import { type BatchRecord, RecordBatchWriter } from './record-batch.ts';

/*
 * Sends records in a transaction. Replaces kafkajs' own function. A call has three steps:
 *
 * 1. One request adds all partitions to the transaction. The call has sent no record yet, so this request can be repeated.
 * 2. One Produce request goes to each leader. If a request fails, the call fails, because the broker may have the records.
 *    kafkajs' function would repeat the request with newer metadata, and write the records twice in one transaction.
 * 3. A broker may *answer* that it is not the leader of a partition. After all responses, the partition's batch is then sent
 *    again, with the same sequence number. From this number, a leader recognizes a batch that it already has.
 */

const PRODUCE = { apiKey: 0, apiVersion: 7, apiName: 'Produce', expectResponse: () => true };
const DEFAULT_TIMEOUT_MS = 30_000;
/** The retries while the broker ends the previous transaction, usually for milliseconds. kafkajs would wait 50 ms or more. */
const CONCURRENT_WAIT = { initialMs: 1, maximumMs: 20, limitMs: 30_000 };
/** Replaces `limitMs` if the call has records. By default, clusters drop a silent broker after 9 s; this limit is shorter. */
const RECORDS_LIMIT_MS = 6_000;

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const NOT_LEADER = 6;
const NOT_ACCEPTED: ReadonlySet<number> = new Set([UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER]);
const LEADER_TRIES = 6;
const SEQUENCES = 2 ** 31;
const LEADER_WAIT = { initialMs: 50, maximumMs: 2_000 };

interface Message extends BatchRecord {
  readonly partition: number;
  readonly addsOnly?: boolean;
}

interface PartitionBatch extends PartitionRecords {
  readonly topic: string;
}

interface ProduceResponse {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly Omit<PartitionResponse, 'topicName'>[];
  }[];
}

type SendingCluster = Pick<
  Cluster,
  | 'addMultipleTargetTopics'
  | 'refreshMetadataIfNecessary'
  | 'refreshMetadata'
  | 'findLeaderForPartitions'
  | 'findBroker'
  | 'hasLostConnection'
>;

type CreateSendMessages = (of: {
  readonly cluster: SendingCluster;
  readonly eosManager: EosManager;
  readonly retrier: Retrier;
}) => SendMessages;

/** @returns a response for each partition that the cluster knows, with errorCode 0. */
export function sendOnce(clock: Clock): CreateSendMessages {
  const pool = new BufferPool();
  const writer = new RecordBatchWriter();
  return function createSendMessages({ cluster, eosManager, retrier }) {
    return async ({ timeout: timeoutMs = DEFAULT_TIMEOUT_MS, compression: codec = 0, topicMessages }) => {
      if (!eosManager.isTransactional()) throw new Error('Records are sent in transactions only');
      const batches = batchesOf(topicMessages);
      const added = await retrier(async (bail) => {
        try {
          return await prepare(batches, cluster, eosManager, clock);
        } catch (error) {
          if ((error as { retriable?: boolean }).retriable !== true) return bail(error) as never;
          await cluster.refreshMetadata();
          throw error;
        }
      });
      const send = async (nodeId: string, led: readonly PartitionBatch[]) => {
        const broker = await cluster.findBroker({ nodeId });
        const request = {
          transactionalId: eosManager.getTransactionalId(),
          producerId: BigInt(String(eosManager.getProducerId())),
          producerEpoch: eosManager.getProducerEpoch(),
          timestampMs: clock.wallMs(),
          timeoutMs,
          codec,
          topics: byTopic(led),
        };
        const encoded = await encodeProduceRequest(request, writer, pool);
        const answers = await produce(broker, encoded);
        pool.giveBack(encoded.buffer);
        return answers;
      };
      const filled = added.filter((batch) => !isEmpty(batch));
      const sent = await sendToLeaders(withSequences(filled, eosManager), { cluster, send, clock });
      return [
        ...sent,
        ...added.filter(isEmpty).map(({ topic, partition }) => ({ topicName: topic, partition, errorCode: 0 })),
      ];
    };
  };
}

function isEmpty({ records }: PartitionBatch): boolean {
  return records.length === 0;
}

function batchesOf(topicMessages: Parameters<SendMessages>[0]['topicMessages']): PartitionBatch[] {
  const batches = new Map<string, PartitionBatch & { readonly records: Message[] }>();
  for (const { topic, messages } of topicMessages) {
    for (const message of messages) {
      const { partition } = message;
      if (!Number.isInteger(partition)) throw new Error(`A record for topic ${topic} names no partition`);
      const key = `${topic}/${partition}`;
      const batch = batches.get(key);
      const records = message.addsOnly === true ? [] : [message];
      if (batch) batch.records.push(...records);
      else batches.set(key, { topic, partition, firstSequence: 0, records });
    }
  }
  return [...batches.values()];
}

/**
 * Adds the partitions to the transaction. No record is sent, so the call can be repeated.
 *
 * @returns the batches of the added partitions. A partition that the cluster does not know yet is not added. Its records
 *   must not be sent, because brokers before 3.6 would accept these records outside the transaction.
 */
async function prepare(
  batches: readonly PartitionBatch[],
  cluster: SendingCluster,
  eosManager: EosManager,
  clock: Clock,
): Promise<readonly PartitionBatch[]> {
  await cluster.addMultipleTargetTopics([...new Set(batches.map(({ topic }) => topic))]);
  await cluster.refreshMetadataIfNecessary();
  const known = [...byLeader(batches, cluster).values()].flat();
  const lacking = batches.find((batch) => isEmpty(batch) && !known.includes(batch));
  if (lacking)
    throw Object.assign(new Error(`no broker knows partition ${lacking.partition}`), { topic: lacking.topic });
  if (known.length === 0) return known;
  const beganAtMs = clock.monotonicMs();
  // A lost broker perhaps never gets the markers that end the previous transaction. Then that transaction's records get the
  // outcome of this transaction. So the retries end early if this call has records.
  const hasRecords = !batches.every(isEmpty);
  const limitMs = hasRecords ? RECORDS_LIMIT_MS : CONCURRENT_WAIT.limitMs;
  const mayRetry = (error: unknown) =>
    (error as { type?: string }).type === 'CONCURRENT_TRANSACTIONS' &&
    clock.monotonicMs() - beganAtMs <= limitMs &&
    !(hasRecords && cluster.hasLostConnection?.());
  const add = () => eosManager.addPartitionsToTransaction(byTopic(known));
  await retry(add, { backOff: CONCURRENT_WAIT, mayRetry, clock, random: () => 1 });
  // The refresh fails if a partition has no leader. Without a leader, the partition would not get this transaction's markers.
  if (!hasRecords && cluster.hasLostConnection?.()) await cluster.refreshMetadata();
  return known;
}

interface Sending {
  readonly cluster: SendingCluster;
  readonly send: (nodeId: string, led: readonly PartitionBatch[]) => Promise<readonly PartitionResponse[]>;
  readonly clock: Clock;
}

async function sendToLeaders(
  batches: readonly PartitionBatch[],
  { cluster, send, clock }: Sending,
): Promise<PartitionResponse[]> {
  const taken: PartitionResponse[] = [];
  let waiting = batches;
  for (let tries = 1; ; tries++) {
    const answers = await Promise.all([...byLeader(waiting, cluster)].map(([nodeId, led]) => send(nodeId, led)));
    const refused = new Set<string>();
    for (const answer of answers.flat()) {
      const { topicName, partition, errorCode } = answer;
      if (errorCode === 0) taken.push(answer);
      else if (NOT_ACCEPTED.has(errorCode) && tries < LEADER_TRIES) refused.add(`${topicName}/${partition}`);
      else {
        const refusal = { topic: topicName, partition, refusedRecords: recordsFor(waiting, answer) };
        throw Object.assign(kafkajsError(errorCode), refusal);
      }
    }
    if (refused.size === 0) return taken;
    waiting = waiting.filter(({ topic, partition }) => refused.has(`${topic}/${partition}`));
    await clock.sleep(backOffMs(tries, LEADER_WAIT, () => 1));
    await cluster.refreshMetadata();
  }
}

function recordsFor(batches: readonly PartitionBatch[], answer: PartitionResponse): number | undefined {
  return batches.find(({ topic, partition }) => topic === answer.topicName && partition === answer.partition)?.records
    .length;
}

function byLeader(batches: readonly PartitionBatch[], cluster: SendingCluster): Map<string, PartitionBatch[]> {
  const leaders = new Map<string, PartitionBatch[]>();
  for (const batch of batches) {
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(batch.topic, [batch.partition]));
    if (nodeId === undefined) continue;
    const led = leaders.get(nodeId);
    if (led) led.push(batch);
    else leaders.set(nodeId, [batch]);
  }
  return leaders;
}

function byTopic(batches: readonly PartitionBatch[]): TopicRecords[] {
  const topics = new Map<string, { topic: string; partitions: PartitionBatch[] }>();
  for (const batch of batches) {
    const found = topics.get(batch.topic);
    if (found) found.partitions.push(batch);
    else topics.set(batch.topic, { topic: batch.topic, partitions: [batch] });
  }
  return [...topics.values()];
}

/**
 * Sets the first sequence number of each batch. The number after 2^31 - 1 is 0. If the next number is 2^31 - 1, this
 * function stores -1 instead, because kafkajs would replace 2^31 - 1 with 0.
 */
function withSequences(batches: readonly PartitionBatch[], eosManager: EosManager): PartitionBatch[] {
  return batches.map(({ topic, partition, records }) => {
    const kept = eosManager.getSequence(topic, partition);
    const firstSequence = (kept + SEQUENCES) % SEQUENCES;
    const next = (firstSequence + records.length) % SEQUENCES;
    eosManager.updateSequence(topic, partition, (next === SEQUENCES - 1 ? -1 : next) - kept);
    return { topic, partition, firstSequence, records };
  });
}

async function produce(broker: Broker, encoded: unknown): Promise<readonly PartitionResponse[]> {
  const request = { ...PRODUCE, encode: async () => encoded };
  const response = {
    decode: inKafkajs('protocol/requests/produce/v7/response.js').decode,
    parse: async (decoded: unknown) => decoded,
  };
  try {
    const { topics } = (await broker.connectionPool.send({ request, response })) as ProduceResponse;
    return topics.flatMap(({ topicName, partitions }) => partitions.map((of) => ({ ...of, topicName })));
  } catch (error) {
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}
