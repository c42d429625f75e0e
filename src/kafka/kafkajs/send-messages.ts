import type { Clock } from '../../support/clock.ts';
import { BufferPool } from './buffer-pool.ts';
import { encodeProduceRequest, type TopicRecords } from './produce-request.ts';
import { type BatchRecord, RecordBatchWriter } from './record-batch.ts';
import type { FramedRequest } from './request-frame.ts';

/*
 * How a transaction's records are sent, in place of kafkajs' own way:
 *
 * 1. All partitions are added to the transaction by one request. Nothing was sent before, so this may be tried again.
 * 2. One Produce request goes to each leader. It is never tried again. kafkajs tries again by broker: when the leaders have
 *    changed meanwhile, or one broker is late and another is cut off, it sends records twice within one transaction.
 *    Whatever rejects here makes the writer leave its producer behind and read what was committed.
 */

const PRODUCE = { apiKey: 0, apiVersion: 7, apiName: 'Produce', expectResponse: () => true };
const DEFAULT_TIMEOUT_MS = 30_000;
/** The broker still ends the transaction before, which takes it milliseconds; kafkajs waits 50 and more each time. */
const CONCURRENT_WAIT = { initialMs: 1, maximumMs: 20, limitMs: 30_000 };

interface Message extends BatchRecord {
  readonly partition: number;
}

interface TopicMessages {
  readonly topic: string;
  readonly messages: readonly Message[];
}

interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
}

interface ProduceAnswer {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number }[];
  }[];
}

interface RequestProtocol {
  readonly encode: () => Promise<unknown>;
}

interface ResponseProtocol {
  readonly decode: (data: unknown) => Promise<unknown>;
  readonly parse: (decoded: unknown) => Promise<unknown>;
}

interface Broker {
  readonly connectionPool: {
    send(of: { request: RequestProtocol; response: ResponseProtocol }): Promise<ProduceAnswer>;
  };
  disconnect(): Promise<void>;
}

interface Cluster {
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  refreshMetadata(): Promise<void>;
  /** By the leader's node id: the partitions that it leads. Partitions that the metadata lacks are left out. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(of: { nodeId: string }): Promise<Broker>;
}

interface EosManager {
  isTransactional(): boolean;
  addPartitionsToTransaction(topics: readonly TopicPartitions[]): Promise<void>;
  getTransactionalId(): string;
  getProducerId(): unknown;
  getProducerEpoch(): number;
  getSequence(topic: string, partition: number): number;
  updateSequence(topic: string, partition: number, increment: number): void;
}

type Retrier = <Result>(attempt: (bail: (error: unknown) => void) => Promise<Result>) => Promise<Result>;

interface SenderParts {
  readonly cluster: Cluster;
  readonly eosManager: EosManager;
  readonly retrier: Retrier;
}

type SendMessages = (of: {
  readonly timeout?: number;
  readonly compression?: number;
  readonly topicMessages: readonly TopicMessages[];
}) => Promise<readonly object[]>;

export type CreateSendMessages = (parts: SenderParts) => SendMessages;

/** What the patched kafkajs sends with: shared by all producers of the process. */
export interface SendingParts {
  readonly clock: Clock;
  /** kafkajs' reading of the response to a Produce request of version 7. */
  readonly response: ResponseProtocol;
}

/**
 * kafkajs' `sendMessages` for transactional producers.
 *
 * @returns per partition of the request: topicName, partition, errorCode, baseOffset. A partition that the cluster does
 *   not know is missing there.
 */
export function sendOnce({ clock, response }: SendingParts): CreateSendMessages {
  const pool = new BufferPool();
  const writer = new RecordBatchWriter();
  return function createSendMessages({ cluster, eosManager, retrier }) {
    return async ({ timeout: timeoutMs = DEFAULT_TIMEOUT_MS, compression: codec = 0, topicMessages }) => {
      if (!eosManager.isTransactional()) throw new Error('Records are sent in transactions only');
      const topics = byPartition(topicMessages);
      const leaders = await retrier((bail) =>
        prepare(topics, { cluster, eosManager, clock }).catch(async (error: { retriable?: boolean }) => {
          if (error.retriable !== true) return bail(error) as never;
          await cluster.refreshMetadata();
          throw error;
        }),
      );
      const send = async ([nodeId, led]: [string, TopicRecords[]]) => {
        const broker = await cluster.findBroker({ nodeId });
        const encoded = await encodeProduceRequest(
          {
            transactionalId: eosManager.getTransactionalId(),
            producerId: BigInt(String(eosManager.getProducerId())),
            producerEpoch: eosManager.getProducerEpoch(),
            timeoutMs,
            codec,
            timestampMs: clock.wallMs(),
            topics: led.map((of) => withSequences(of, eosManager)),
          },
          writer,
          pool,
        );
        const answer = await produce(broker, encoded, response);
        pool.giveBack(encoded.buffer);
        return answer.topics.flatMap(({ topicName, partitions }) => partitions.map((of) => ({ topicName, ...of })));
      };
      return (await Promise.all([...leaders].map(send))).flat();
    };
  };
}

/** The records by partition, in their order. */
function byPartition(topicMessages: readonly TopicMessages[]): Map<string, Map<number, Message[]>> {
  const topics = new Map<string, Map<number, Message[]>>();
  for (const { topic, messages } of topicMessages) {
    const partitions = topics.get(topic) ?? new Map<number, Message[]>();
    topics.set(topic, partitions);
    for (const message of messages) {
      const list = partitions.get(message.partition);
      if (list) list.push(message);
      else partitions.set(message.partition, [message]);
    }
  }
  return topics;
}

/** Finds the leaders and adds all partitions to the transaction. Sends no record, so it may be tried again. */
async function prepare(
  topics: ReadonlyMap<string, ReadonlyMap<number, readonly Message[]>>,
  { cluster, eosManager, clock }: Pick<SenderParts, 'cluster' | 'eosManager'> & { readonly clock: Clock },
): Promise<Map<string, TopicRecords[]>> {
  await cluster.addMultipleTargetTopics([...topics.keys()]);
  await cluster.refreshMetadataIfNecessary();
  const leaders = new Map<string, TopicRecords[]>();
  const added: TopicPartitions[] = [];
  for (const [topic, partitions] of topics) {
    for (const [nodeId, led] of Object.entries(cluster.findLeaderForPartitions(topic, [...partitions.keys()]))) {
      const ofLeader = leaders.get(nodeId) ?? [];
      leaders.set(nodeId, ofLeader);
      const records = led.map((partition) => ({
        partition,
        firstSequence: 0,
        records: partitions.get(partition) ?? [],
      }));
      ofLeader.push({ topic, partitions: records });
      added.push({ topic, partitions: records });
    }
  }
  if (added.length > 0) await addPartitions(added, eosManager, clock);
  return leaders;
}

/** Waits while the broker still ends the transaction before: normal right after a commit. */
async function addPartitions(added: readonly TopicPartitions[], eosManager: EosManager, clock: Clock): Promise<void> {
  const beganAtMs = clock.monotonicMs();
  for (let waitMs = CONCURRENT_WAIT.initialMs; ; waitMs = Math.min(waitMs * 2, CONCURRENT_WAIT.maximumMs)) {
    try {
      return await eosManager.addPartitionsToTransaction(added);
    } catch (error) {
      const { type } = error as { type?: string };
      const waited = clock.monotonicMs() - beganAtMs;
      if (type !== 'CONCURRENT_TRANSACTIONS' || waited > CONCURRENT_WAIT.limitMs) throw error;
      await clock.sleep(waitMs);
    }
  }
}

/** Takes the sequence numbers. They are never given back: after a failure this producer sends nothing any more. */
function withSequences({ topic, partitions }: TopicRecords, eosManager: EosManager): TopicRecords {
  return {
    topic,
    partitions: partitions.map(({ partition, records }) => {
      const firstSequence = eosManager.getSequence(topic, partition);
      eosManager.updateSequence(topic, partition, records.length);
      return { partition, firstSequence, records };
    }),
  };
}

async function produce(broker: Broker, encoded: FramedRequest, response: ResponseProtocol): Promise<ProduceAnswer> {
  try {
    return await broker.connectionPool.send({ request: { ...PRODUCE, encode: async () => encoded }, response });
  } catch (error) {
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}
