import { ConnectorError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { GroupReader, ReadBatch } from '../../../src/kafka/group-reader.ts';
import { HeldPartitions } from '../../../src/kafka/kafkajs/group/held-partitions.ts';
import { planRounds } from '../../../src/kafka/kafkajs/send-plan.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/kafkajs/tuning.ts';
import { FreshRecords, type LogTail } from '../../../src/kafka/log-reader.ts';
import type { TopicPartition } from '../../../src/kafka/topic.ts';
import { compareTopic } from '../../../src/kafka/topic-comparison.ts';
import type { TransactionalWriter, WriterOptions, WriterTransaction } from '../../../src/kafka/transactional-writer.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { type MemoryBroker, MemoryFenced } from './memory-broker.ts';
import type { GroupMembership } from './memory-groups.ts';

/** Follows topics of a broker in memory. Partitions that do not exist yet are waited for. */
function createMemoryTail(broker: MemoryBroker): LogTail {
  return {
    async follow({ topic, partitions, onlyNew = false, onRecord, signal }) {
      signal.throwIfAborted();
      const fresh = new FreshRecords();
      if (onlyNew && broker.topic(topic) !== undefined) {
        for (const partition of partitions) {
          const last = broker.readCommitted(topic, partition).at(-1);
          if (last !== undefined) fresh.skipTo(partition, last.offset + 1n);
        }
      }
      const refused = Promise.withResolvers<never>();
      const give = () => {
        try {
          if (broker.topic(topic) === undefined) return;
          for (const partition of partitions) {
            broker
              .readCommitted(topic, partition)
              .filter((record) => fresh.isFresh(record))
              .forEach(onRecord);
          }
        } catch (error) {
          refused.reject(error);
        }
      };
      const stopListening = broker.onTransactionEnd(give);
      try {
        give();
        return await untilAborted(refused.promise, signal);
      } finally {
        stopListening();
      }
    },
  };
}

/** Small, so that a test sees several batches. */
const MAX_BATCH_RECORDS = 10;

/** Where a member reads on in one partition. A new one stands in its place after each join. */
interface Cursor {
  readonly partition: TopicPartition;
  next: bigint;
  busy: boolean;
}

/** A member of a group of a broker in memory. It fetches whenever a transaction has ended or a batch was taken. */
function createMemoryGroupReader(broker: MemoryBroker): GroupReader {
  return {
    async run({ groupId, topics, assigned, joined, members = () => {}, assignor, signal }) {
      signal.throwIfAborted();
      const failed = Promise.withResolvers<never>();
      const cursors = new Map<string, Cursor>();
      const readOn = async (key: string, cursor: Cursor) => {
        if (cursor.busy) return;
        cursor.busy = true;
        while (cursors.get(key) === cursor) {
          const batch = fetchFrom(broker, cursor);
          if (batch === undefined) break;
          cursor.next = batch.nextOffset;
          await held.offer(cursor.partition, batch);
        }
        cursor.busy = false;
      };
      const held = new HeldPartitions({
        assigned,
        ...(joined && { joined }),
        async ownershipProof(_sinceMs, waiting) {
          // Who is no member any more hears nothing; for a member, each moment confirms it.
          if (!broker.groups.isMember(groupId, member)) await untilAborted(new Promise<never>(() => {}), waiting);
        },
        failed: failed.reject,
        fetcher: {
          pause: (partitions) => partitions.forEach((partition) => void cursors.delete(JSON.stringify(partition))),
          readFrom(partition, next) {
            const cursor = { partition, next, busy: false };
            cursors.set(JSON.stringify(partition), cursor);
            void readOn(JSON.stringify(partition), cursor);
          },
        },
      });
      const stopListening = broker.onTransactionEnd(() => {
        for (const [key, cursor] of cursors) void readOn(key, cursor);
      });
      const member: GroupMembership = { topics, assignor, joined: (partitions) => held.rejoin(partitions), members };
      const leave = broker.groups.join(groupId, member);
      try {
        return await untilAborted(failed.promise, signal);
      } finally {
        cursors.clear();
        held.end(signal.aborted ? signal.reason : new Error('the member could not go on'));
        stopListening();
        leave();
      }
    },
  };
}

function fetchFrom(broker: MemoryBroker, { partition: { topic, partition }, next }: Cursor): ReadBatch | undefined {
  const ends = broker.ends(topic, partition);
  const end = Math.min(ends.stable, Number(next) + MAX_BATCH_RECORDS);
  if (next >= end) return undefined;
  const records = broker.readCommitted(topic, partition).filter(({ offset }) => offset >= next && offset < end);
  return { records, nextOffset: BigInt(end), endOffset: BigInt(ends.log) };
}

/**
 * The steps of a writer at which a test can make it fail, by throwing from `onStep`. What was done before the step stays
 * done: a throw at `committed` is a commit whose answer was lost, one at `sent` leaves an open transaction behind.
 */
export type MemoryStep = 'fencing' | 'fenced' | 'sending' | 'sent' | 'committing' | 'committed';

export interface MemoryClusterOptions {
  /** Shared by the clusters of several pretended processes. */
  readonly broker: MemoryBroker;
  /** May also wait, so that a test can hold a writer at a step. */
  readonly onStep?: (step: MemoryStep, transactionalId: string) => void | Promise<void>;
}

const DEFAULT_MAX_MESSAGE_BYTES = 1_048_588;

/** Kafka for a shared time, which passes while anything sleeps: the watch of the topics' ids would let all of it pass. */
export function createUnwatchedCluster(options: MemoryClusterOptions): KafkaCluster {
  return { ...createMemoryCluster(options), topicIds: async () => new Map() };
}

/** Kafka in memory, with the transactional semantics of the real one; the same contract tests run against both. */
export function createMemoryCluster(options: MemoryClusterOptions): KafkaCluster {
  const { broker } = options;
  const writers: MemoryWriter[] = [];
  return {
    transactionalWriter(transactionalId, writerOptions = {}) {
      const writer = new MemoryWriter(transactionalId, { ...options, ...writerOptions });
      writers.push(writer);
      return writer;
    },
    logTail: createMemoryTail(broker),
    groupReader: createMemoryGroupReader(broker),
    async consumerOffset(groupId, partition, signal) {
      signal.throwIfAborted();
      try {
        return broker.committed(groupId, partition);
      } catch (cause) {
        throw new ConnectorError('KAFKA_UNREACHABLE', `The offset of group ${groupId} could not be read.`, { cause });
      }
    },
    logReader: {
      async readToEnd({ topic, partitions, sinceMs = 0, newest, onRecord, room, signal }) {
        signal.throwIfAborted();
        const records = partitions.map((partition) => {
          try {
            const wanted = broker.readCommitted(topic, partition).filter(({ timestampMs }) => timestampMs >= sinceMs);
            return newest === undefined ? wanted : wanted.slice(-newest);
          } catch (cause) {
            throw new ConnectorError('KAFKA_UNREACHABLE', `Topic ${topic} could not be read to its end.`, { cause });
          }
        });
        for (const record of records.flat()) {
          onRecord(record);
          await room?.();
          signal.throwIfAborted();
        }
      },
    },
    async ensureTopics(asked, { create, mayBeRefused = new Set() }) {
      const refused = new Map<string, ConnectorError>();
      const created: string[] = [];
      const warnings: string[] = [];
      const missing = asked.map(({ name }) => name).filter((name) => broker.topic(name) === undefined);
      for (const wanted of asked) {
        const { name } = wanted;
        try {
          if (broker.topic(name) === undefined) {
            if (!create)
              throw new ConnectorError('TOPIC_MISSING', `${name} is missing.`, { fields: { topics: missing } });
            broker.createTopic(wanted);
            created.push(name);
          }
          const found = broker.topic(name) ?? wanted;
          const settings = new Map(Object.entries(found.settings));
          const { partitions, replicationFactor: replicas } = found;
          warnings.push(...compareTopic(wanted, { partitions, replicas, settings }));
        } catch (error) {
          if (!(error instanceof ConnectorError) || !mayBeRefused.has(name)) throw error;
          refused.set(name, error);
        }
      }
      const topics = asked.filter(({ name }) => !refused.has(name));
      const maxMessageBytes = new Map(
        topics.map(({ name, settings }) => {
          const found = broker.topic(name)?.settings ?? settings;
          return [name, Number(found['max.message.bytes'] ?? DEFAULT_MAX_MESSAGE_BYTES)];
        }),
      );
      return { created, warnings, refused, maxMessageBytes };
    },
    async topicIds(topics, signal) {
      signal.throwIfAborted();
      const ids = topics.map((name) => [name, broker.topicId(name)] as const);
      return new Map(ids.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
    },
    groupMembers: async (groupId) => broker.groups.members(groupId),
    clusterId: async () => 'memory',
    answeredMs: () => Number.POSITIVE_INFINITY,
    async close() {
      await Promise.all(writers.map((writer) => writer.close()));
    },
  };
}

/** The promises of `TransactionalWriter` without a network: an attempt to open is made once and not retried. */
class MemoryWriter implements TransactionalWriter {
  readonly #transactionalId: string;
  readonly #options: MemoryClusterOptions & WriterOptions;
  #epoch: number | undefined;
  #commitUnderWay: Promise<void> | undefined;
  #closing = new AbortController();
  #stopped = AbortSignal.abort();

  constructor(transactionalId: string, options: MemoryClusterOptions & WriterOptions) {
    this.#transactionalId = transactionalId;
    this.#options = options;
  }

  async open<Position>(
    readPosition: (signal: AbortSignal) => Promise<Position>,
    signal: AbortSignal,
  ): Promise<Position> {
    this.#epoch = undefined;
    this.#closing = new AbortController();
    const stopped = AbortSignal.any([signal, this.#closing.signal]);
    this.#stopped = stopped;
    stopped.throwIfAborted();
    try {
      await this.#proveOwnership(stopped);
      await this.#step('fencing');
      const epoch = this.#options.broker.initProducer(this.#transactionalId);
      await this.#step('fenced');
      const position = await untilAborted(readPosition(stopped), stopped);
      stopped.throwIfAborted();
      this.#epoch = epoch;
      return position;
    } catch (cause) {
      stopped.throwIfAborted();
      if (cause instanceof ConnectorError) throw cause;
      const text = `The writer ${this.#transactionalId} could not be opened.`;
      throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
    }
  }

  async commit(transaction: WriterTransaction): Promise<void> {
    const epoch = this.#epoch;
    if (epoch === undefined) throw this.#closed('is not open');
    if (this.#commitUnderWay) throw this.#closed('is in the middle of another commit; commit one after the other');
    const { records, sourceOffset, consumerOffset } = transaction;
    if (records.length === 0 && sourceOffset === undefined && consumerOffset === undefined) return;
    const work = this.#runTransaction(epoch, transaction);
    this.#commitUnderWay = work;
    try {
      await work;
    } catch (cause) {
      if (this.#epoch === epoch) this.#epoch = undefined;
      throw new ConnectorError(
        cause instanceof MemoryFenced ? 'WRITER_FENCED' : 'TRANSACTION_FAILED',
        `The transaction of ${this.#transactionalId} failed. The writer opens again and reads the committed offset.`,
        { cause },
      );
    } finally {
      this.#commitUnderWay = undefined;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(this.#closed('was closed while it was opening'));
    while (this.#commitUnderWay) await this.#commitUnderWay.catch(() => {});
    this.#epoch = undefined;
  }

  async #runTransaction(epoch: number, { consumerOffset, ...written }: WriterTransaction): Promise<void> {
    const { broker } = this.#options;
    await this.#proveOwnership(this.#stopped);
    for (const send of planRounds(written, DEFAULT_TUNING).flat()) {
      await this.#step('sending');
      broker.append(this.#transactionalId, epoch, send.records);
      await this.#step('sent');
    }
    if (consumerOffset) broker.addConsumerOffset(this.#transactionalId, epoch, consumerOffset);
    await this.#proveOwnership(this.#stopped);
    await this.#step('committing');
    broker.endTransaction(this.#transactionalId, epoch, 'committed');
    await this.#step('committed');
  }

  async #proveOwnership(signal: AbortSignal): Promise<void> {
    await this.#options.ownershipProof?.(Number.NEGATIVE_INFINITY, signal);
  }

  async #step(step: MemoryStep): Promise<void> {
    await this.#options.onStep?.(step, this.#transactionalId);
  }

  #closed(what: string): ConnectorError {
    return new ConnectorError('WRITER_CLOSED', `The writer ${this.#transactionalId} ${what}.`);
  }
}
