import type { TestContext } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';

/** One implementation of Kafka under test. */
export interface ContractSubject {
  readonly cluster: KafkaCluster;
  /** Writes records in a transaction of this id and stays silent for good, as a killed process does. */
  leaveOpen(transactionalId: string, records: readonly OutgoingRecord[]): Promise<void>;
  deleteTopic(name: string): Promise<void>;
}

/** Names a promise, and how it is tested. */
export type Contract = (title: string, body: (subject: ContractSubject, t: TestContext) => Promise<void>) => void;
