import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Kafka, Producer, Transaction } from 'kafkajs';
import { ConnectorError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { connectKafka, type KafkajsOptions } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { CommittedRecord, OutgoingRecord } from '../../../src/kafka/record.ts';
import type { TopicSpecification } from '../../../src/kafka/topic.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { loadRawKafkajs } from './raw-kafkajs.ts';
import { stackOrSkip } from './stack.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
/** A test reads once what a connector would read again; a busy broker may be silent for longer than it waits. */
const READ_STALL_MS = 120_000;
const MOST_READINGS = 4;

export type TestKafka = NonNullable<Awaited<ReturnType<typeof kafkaOrSkip>>>;

/** A test against the real broker; skipped, with the reason, where none can be started. */
export function kafkaTest(title: string, body: (t: TestContext, kafka: TestKafka) => Promise<void>): void {
  test(title, async (t) => {
    const kafka = await kafkaOrSkip(t);
    if (kafka) await body(t, kafka);
  });
}

export async function kafkaOrSkip(t: TestContext) {
  const stack = await stackOrSkip(t);
  if (stack === undefined) return undefined;
  const { brokers } = stack;
  /** A plain kafkajs client (patched), to do what our writer never does; its log lines are dropped. */
  const plain = () => {
    const { Kafka, logLevel } = loadRawKafkajs();
    const retry = { initialRetryTime: 50, retries: 5 };
    return new Kafka({ brokers, clientId: `test-${randomUUID()}`, logLevel: logLevel.NOTHING, retry });
  };
  return {
    plain,
    /** Our client; closed when the test ends. */
    connect(options: Partial<KafkajsOptions> = {}) {
      return connectOurs(t, { brokers, tuning: { readStallMs: READ_STALL_MS }, ...options });
    },
    /** Writes records in a transaction of this id and disconnects without ending it, as a killed process does. */
    async leaveOpen(transactionalId: string, records: readonly OutgoingRecord[]) {
      const producer = plain().producer({ transactionalId, maxInFlightRequests: 1 });
      await producer.connect();
      const transaction = await producer.transaction();
      for (const { topic, ...message } of records) await transaction.send({ topic, messages: [message] });
      await producer.disconnect();
    },
  };
}

/** Our client, as in production but for the options; closed when the test ends. */
export function connectOurs(
  t: TestContext,
  options: Partial<KafkajsOptions> & Pick<KafkajsOptions, 'brokers'>,
): KafkaCluster {
  const own = { clientId: `test-${randomUUID()}`, clock: systemClock, random: Math.random, log: silent };
  const cluster = connectKafka({ ...own, ...options });
  t.after(() => cluster.close());
  return cluster;
}

export async function createTopic(
  cluster: KafkaCluster,
  settings: Record<string, string> = {},
  partitions = 1,
): Promise<TopicSpecification> {
  const specification = {
    name: `test-${randomUUID()}`,
    partitions,
    replicationFactor: 1,
    settings: { 'cleanup.policy': 'delete', 'message.timestamp.type': 'LogAppendTime', ...settings },
  };
  await cluster.ensureTopics([specification], { create: true });
  return specification;
}

/**
 * Everything that is committed on partition 0 (or the others asked for), in order. A reading that a busy broker cut
 * short is repeated a few times, as its error advises. `toHighWatermark` waits for open transactions: a commit is acknowledged
 * before its markers are written, so a record can appear a moment after its writer has ended.
 */
export async function readCommitted(
  cluster: KafkaCluster,
  topic: string,
  partitions: readonly number[] = [0],
  { toHighWatermark = false } = {},
): Promise<CommittedRecord[]> {
  const signal = AbortSignal.timeout(600_000);
  for (let attempt = 1; ; attempt++) {
    const records: CommittedRecord[] = [];
    try {
      const onRecord = (record: CommittedRecord) => records.push(record);
      await cluster.logReader.readToEnd({ topic, partitions, toHighWatermark, onRecord, signal });
      return records;
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.action !== 'retry' || attempt === MOST_READINGS) throw error;
    }
  }
}

/** Hooks around the steps of every transaction of a client; what a hook does not do does not happen. */
export interface TransactionHooks {
  readonly send?: (
    send: () => ReturnType<Transaction['send']>,
    call: number,
    topics: readonly string[],
  ) => ReturnType<Transaction['send']>;
  readonly commit?: (commit: () => Promise<void>) => Promise<void>;
}

/** For `KafkajsOptions.wrap`: runs the hooks instead of the sends and commits of every producer's transactions. */
export function hookTransactions(hooks: TransactionHooks): (kafka: Kafka) => Kafka {
  return (kafka) => {
    let sends = 0;
    const hook = (send: () => ReturnType<Transaction['send']>, topics: readonly string[]) =>
      hooks.send ? hooks.send(send, ++sends, topics) : send();
    const hooked = (producer: Producer): Producer => ({
      ...producer,
      async transaction() {
        const transaction = await producer.transaction();
        const { commit } = hooks;
        return {
          ...transaction,
          send: (record) => hook(() => transaction.send(record), [record.topic]),
          sendBatch: (batch) =>
            hook(() => transaction.sendBatch(batch), batch.topicMessages?.map(({ topic }) => topic) ?? []),
          commit: () => (commit ? commit(() => transaction.commit()) : transaction.commit()),
        };
      },
    });
    return Object.assign(Object.create(kafka), { producer: (config: object) => hooked(kafka.producer(config)) });
  };
}
