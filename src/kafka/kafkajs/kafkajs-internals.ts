import type { BatchRecord } from './produce/record-batch.ts';

/* The parts of kafkajs 2.2.4 that the replaced functions use. None of them is public there. */

export interface PartitionResponse {
  readonly topicName: string;
  readonly partition: number;
  readonly errorCode: number;
}

export interface ProduceResponse {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly Omit<PartitionResponse, 'topicName'>[];
  }[];
}

export interface Broker {
  readonly connectionPool: {
    send(of: {
      readonly request: { readonly encode: () => Promise<unknown> };
      readonly response: {
        readonly decode: (data: unknown) => Promise<unknown>;
        readonly parse: (decoded: unknown) => Promise<unknown>;
      };
    }): Promise<unknown>;
  };
  disconnect(): Promise<void>;
}

export interface Cluster {
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  refreshMetadata(): Promise<void>;
  /** By the leader's node id: the partitions that it leads. Partitions that the metadata lacks are left out. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(of: { nodeId: string }): Promise<Broker>;
  /** Of a transactional producer: whether a connection that its last transaction used has ended since. */
  hasLostConnection?: () => boolean;
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

/** Tries rejected work again, unless `bail` gave it up. */
export type Retrier = <Result>(attempt: (bail: (error: unknown) => void) => Promise<Result>) => Promise<Result>;

export type SendMessages = (of: {
  readonly timeout?: number;
  readonly compression?: number;
  readonly topicMessages: readonly {
    readonly topic: string;
    readonly messages: readonly (BatchRecord & {
      readonly partition: number;
      /** Only adds the partition to the transaction; there is no record. */
      readonly addsOnly?: boolean;
    })[];
  }[];
}) => Promise<readonly PartitionResponse[]>;
