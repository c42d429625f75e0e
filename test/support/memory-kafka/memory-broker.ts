import { randomUUID } from 'node:crypto';
import type { CommittedOffset } from '../../../src/kafka/cluster.ts';
import type { CommittedRecord, OutgoingRecord } from '../../../src/kafka/record.ts';
import type { TopicPartition, TopicSpecification } from '../../../src/kafka/topic.ts';
import type { ConsumerOffset } from '../../../src/kafka/transactional-writer.ts';
import { MemoryGroups } from './memory-groups.ts';

type TransactionState = 'open' | 'committed' | 'aborted';

/** One transaction as the broker sees it; its records take part in the log from the moment they are appended. */
export interface MemoryTransaction {
  state: TransactionState;
  /** Take effect when it is committed. */
  readonly consumerOffsets: ConsumerOffset[];
}

interface Appended {
  readonly record: CommittedRecord;
  readonly transaction: MemoryTransaction;
}

interface Topic {
  readonly id: string;
  readonly specification: TopicSpecification;
  readonly logs: readonly Appended[][];
}

/** Has the message of the broker's INVALID_PRODUCER_EPOCH: a newer producer holds the transactional id. */
export class MemoryFenced extends Error {
  readonly code = 47;
}

/**
 * The part of a Kafka broker that exactly-once rests on: partitioned logs, transactions, fencing by transactional id,
 * and the last stable offset. Nothing is compacted or deleted. Outlives the clusters that are connected to it, as a
 * broker outlives processes.
 */
export class MemoryBroker {
  readonly #topics = new Map<string, Topic>();
  /** The newest epoch of each transactional id, and the transaction that it has open. */
  readonly #holders = new Map<string, { epoch: number; open: MemoryTransaction | undefined }>();
  readonly #wallMs: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #consumerOffsets = new Map<string, CommittedOffset>();
  /** Who reads together; tests make them rebalance. */
  readonly groups = new MemoryGroups((topic) => this.topic(topic)?.partitions ?? 0);

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  topic(name: string): TopicSpecification | undefined {
    return this.#topics.get(name)?.specification;
  }

  createTopic(specification: TopicSpecification): void {
    const logs = Array.from({ length: specification.partitions }, () => []);
    this.#topics.set(specification.name, { id: randomUUID(), specification, logs });
  }

  topicId(name: string): string | undefined {
    return this.#topics.get(name)?.id;
  }

  /** With its records; a topic of the same name that is created later is another one, without consumer offsets. */
  deleteTopic(name: string): void {
    this.#topics.delete(name);
    for (const key of this.#consumerOffsets.keys()) if (JSON.parse(key)[1] === name) this.#consumerOffsets.delete(key);
  }

  /** Fences every earlier holder, aborts what it left open, and gives the epoch of the new one. */
  initProducer(transactionalId: string): number {
    const earlier = this.#holders.get(transactionalId);
    if (earlier?.open) earlier.open.state = 'aborted';
    const epoch = (earlier?.epoch ?? -1) + 1;
    this.#holders.set(transactionalId, { epoch, open: undefined });
    this.#tellEnd();
    return epoch;
  }

  /** @throws MemoryFenced */
  append(transactionalId: string, epoch: number, records: readonly OutgoingRecord[]): void {
    const holder = this.#holder(transactionalId, epoch);
    const logs = records.map((record) => this.#log(record.topic, record.partition));
    holder.open ??= { state: 'open', consumerOffsets: [] };
    for (const [index, record] of records.entries()) {
      const log = logs[index];
      const offset = BigInt(log?.length ?? 0);
      log?.push({ record: { ...record, offset, timestampMs: this.#wallMs() }, transaction: holder.open });
    }
  }

  /** @throws MemoryFenced */
  addConsumerOffset(transactionalId: string, epoch: number, offset: ConsumerOffset): void {
    const holder = this.#holder(transactionalId, epoch);
    this.#log(offset.topic, offset.partition);
    holder.open ??= { state: 'open', consumerOffsets: [] };
    holder.open.consumerOffsets.push(offset);
  }

  /** The next offset to read as committed by a group; null when there is none. */
  consumerOffset(groupId: string, partition: TopicPartition): bigint | null {
    return this.committed(groupId, partition)?.offset ?? null;
  }

  committed(groupId: string, partition: TopicPartition): CommittedOffset | null {
    this.#log(partition.topic, partition.partition);
    return this.#consumerOffsets.get(offsetKey(groupId, partition)) ?? null;
  }

  /** @throws MemoryFenced */
  endTransaction(transactionalId: string, epoch: number, outcome: 'committed' | 'aborted'): void {
    const holder = this.#holder(transactionalId, epoch);
    if (holder.open) holder.open.state = outcome;
    if (outcome === 'committed') {
      for (const committed of holder.open?.consumerOffsets ?? []) {
        const { offset, metadata = '' } = committed;
        this.#consumerOffsets.set(offsetKey(committed.groupId, committed), { offset, metadata });
      }
    }
    holder.open = undefined;
    this.#tellEnd();
  }

  /** Calls the listener whenever a transaction has ended, so that more may be visible; gives a function that ends this. */
  onTransactionEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What a read_committed reader sees: nothing aborted, and nothing behind the first open transaction. */
  readCommitted(topic: string, partition: number): CommittedRecord[] {
    const stable = this.#log(topic, partition).slice(0, this.ends(topic, partition).stable);
    return stable.filter(({ transaction }) => transaction.state === 'committed').map(({ record }) => record);
  }

  /** The end of what can be read, and the end of the log. */
  ends(topic: string, partition: number): { readonly stable: number; readonly log: number } {
    const log = this.#log(topic, partition);
    const firstOpen = log.findIndex(({ transaction }) => transaction.state === 'open');
    return { stable: firstOpen < 0 ? log.length : firstOpen, log: log.length };
  }

  /** Whether any transaction is open anywhere (then some last stable offset lags behind its high watermark). */
  hasOpenTransaction(): boolean {
    return [...this.#holders.values()].some(({ open }) => open !== undefined);
  }

  #tellEnd(): void {
    for (const listener of this.#listeners) listener();
  }

  #holder(transactionalId: string, epoch: number) {
    const holder = this.#holders.get(transactionalId);
    if (holder?.epoch !== epoch)
      throw new MemoryFenced(`a newer producer holds the transactional id ${transactionalId}`);
    return holder;
  }

  #log(topic: string, partition: number): Appended[] {
    const log = this.#topics.get(topic)?.logs[partition];
    if (log === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
    return log;
  }
}

function offsetKey(groupId: string, { topic, partition }: TopicPartition): string {
  return JSON.stringify([groupId, topic, partition]);
}
