import { createRequire } from 'node:module';
import type { BatchRecord } from './produce/record-batch.ts';

/* The internal parts of kafkajs 2.2.4 that we use. */

export interface PartitionResponse {
  readonly topicName: string;
  readonly partition: number;
  readonly errorCode: number;
}

export interface PooledConnection {
  readonly socket?: UsedSocket;
  rejectRequests(error: Error): void;
}

export interface UsedSocket {
  readonly bytesWritten: number;
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
  destroy(): void;
}

export interface Broker {
  readonly versions?: Readonly<Record<number, { readonly maxVersion: number }>> | null;
  readonly connectionPool: {
    readonly pool: readonly PooledConnection[];
    send(of: {
      readonly request: { readonly encode: () => Promise<unknown> };
      readonly response: {
        readonly decode: (data: Buffer) => Promise<unknown>;
        readonly parse: (decoded: unknown) => Promise<unknown>;
      };
    }): Promise<unknown>;
  };
  fetch(request: object): Promise<{ readonly responses: readonly { readonly partitions: readonly RawPart[] }[] }>;
  disconnect(): Promise<void>;
}

export interface Cluster {
  readonly brokerPool: {
    readonly brokers: Readonly<Record<string, Broker>>;
    readonly seedBroker?: Broker;
    findConnectedBroker(): Promise<Broker>;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  /** The partitions of each leader, by the leader's node id. Partitions that are not in the metadata are omitted. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  fetchTopicsOffset(
    topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number }[];
      readonly fromTimestamp: number;
    }[],
  ): Promise<readonly { readonly partitions: readonly { partition: number; offset: string }[] }[]>;
  findBroker(of: { readonly nodeId: string }): Promise<Broker>;
  findGroupCoordinator(of: { readonly groupId: string; readonly coordinatorType?: number }): Promise<Broker>;
  /** Only for a transactional producer: true if a connection that the last transaction used was lost. */
  hasLostConnection?: () => boolean;
}

/** One fetched record. Offsets and producer ids are int64 as decimal text. */
export interface RawMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

export interface RawPart {
  readonly partition: number;
  readonly messages: readonly RawMessage[];
  readonly abortedTransactions?: readonly AbortedTransaction[];
}

export interface EosManager {
  isTransactional(): boolean;
  addPartitionsToTransaction(
    topics: readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number }[] }[],
  ): Promise<void>;
  getTransactionalId(): string;
  getProducerId(): unknown;
  getProducerEpoch(): number;
  getSequence(topic: string, partition: number): number;
  updateSequence(topic: string, partition: number, increment: number): void;
}

export type Retrier = <Result>(attempt: (bail: (error: unknown) => void) => Promise<Result>) => Promise<Result>;

export type SendMessages = (of: {
  readonly timeout?: number;
  readonly compression?: number;
  readonly topicMessages: readonly {
    readonly topic: string;
    readonly messages: readonly (BatchRecord & {
      readonly partition: number;
      /** Adds the partition to the transaction, and sends no record. */
      readonly addsOnly?: boolean;
    })[];
  }[];
}) => Promise<readonly PartitionResponse[]>;

interface Encoder {
  writeBoolean(value: boolean): Encoder;
  writeInt32(value: number): Encoder;
  writeBuffer(bytes: Buffer): Encoder;
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(text: string): Encoder;
  writeUVarIntArray(elements: readonly Encoder[]): Encoder;
}

export interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): bigint;
  readBytes(count: number): Buffer;
  readUVarIntString(): string | null;
  readUVarIntArray<Element>(read: (from: Decoder) => Element): readonly Element[] | null;
  readTaggedFields(): unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: kafkajs has no types for its own parts.
export function inKafkajs(module: string): any {
  return createRequire(import.meta.url)(`kafkajs/src/${module}`);
}

export function kafkajsError(code: number): Error {
  return inKafkajs('protocol/error.js').createErrorFromCode(code);
}

/** The error codes COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR. */
export const COORDINATOR_MOVES: readonly number[] = [14, 15, 16];

/** The highest version of a request that the broker supports; -1 if none. Throws if a frozen broker has not named its versions. */
export function supportedVersion({ versions }: Pick<Broker, 'versions'>, apiKey: number): number {
  if (!versions) throw new Error('the broker has not named its versions');
  return versions[apiKey]?.maxVersion ?? -1;
}

/** Sends a request that kafkajs lacks, in Kafka's flexible format: each structure ends with its tagged fields. */
export async function askBroker<Found>(
  { connectionPool }: Pick<Broker, 'connectionPool'>,
  kind: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  write: (request: Encoder, element: () => Encoder) => Encoder,
  read: (from: Decoder) => Found,
): Promise<Found> {
  const element: () => Encoder = () => new (inKafkajs('protocol/encoder.js'))();
  const response = {
    async decode(bytes: Buffer) {
      const from: Decoder = new (inKafkajs('protocol/decoder.js'))(bytes);
      from.readTaggedFields();
      from.readInt32();
      return read(from);
    },
    parse: async (found: unknown) => found,
  };
  const encode = async () => endOf(write(endOf(element()), element));
  return (await connectionPool.send({ request: { ...kind, encode }, response })) as Found;
}

/** Ends a structure that has no tagged fields. */
export function endOf(structure: Encoder): Encoder {
  return structure.writeUVarInt(0);
}
