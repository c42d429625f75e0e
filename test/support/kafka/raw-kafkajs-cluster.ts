import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Admin, ISocketFactory, Kafka, KafkaConfig, Producer, ProducerConfig } from 'kafkajs';
import { startTcpProxies, type TcpProxies } from '../network/tcp-proxy.ts';
import { eventually } from '../runner/eventually.ts';
import { leaderOf, type PartitionView, viewPartition } from './kafka-wire-log.ts';
import { loadRawKafkajs } from './raw-kafkajs.ts';
import { stackOrSkip } from './stack.ts';

/** What the project's rules prescribe for a producer, with shorter waits; the hazards show with these. */
const PRODUCER_SETTINGS = {
  maxInFlightRequests: 1,
  transactionTimeout: 60_000,
  retry: { retries: 5, initialRetryTime: 20, maxRetryTime: 400 },
} as const satisfies ProducerConfig;

export interface RawProducerOptions {
  readonly through?: TcpProxies;
  readonly settings?: ProducerConfig;
  readonly client?: Partial<KafkaConfig>;
}

/** The tests' topics are led by one broker or another, and the others follow. */
const MOST_REPLICAS = 3;

/** Raw kafkajs at work in one test: clients straight to the brokers and through proxies, and topics of its own. */
export interface RawCluster {
  /** `host:port` of each; one, unless the run was asked for more. */
  readonly brokers: readonly string[];
  /** One before each broker, with rules in common. */
  readonly proxy: TcpProxies;
  readonly admin: Admin;
  /** A client; straight to the brokers unless it is given the proxy's socket factory. */
  client(settings?: Partial<KafkaConfig>): Kafka;
  /** A connected producer with the project's settings; straight to the brokers unless `through` is the proxy. */
  producer(transactionalId: string, options?: RawProducerOptions): Promise<Producer>;
  createTopic(settings?: { partitions?: number; settings?: Record<string, string> }): Promise<string>;
  /** One transaction of these values. */
  commit(producer: Producer, topic: string, ...values: readonly string[]): Promise<void>;
  view(topic: string, partition?: number, from?: number): Promise<PartitionView>;
  /** The same of partition 0, once it is as expected. */
  viewWhen(topic: string, isExpected: (view: PartitionView) => boolean): Promise<PartitionView>;
  /** The same once nothing is open there. */
  settled(topic: string, partition?: number, from?: number): Promise<PartitionView>;
  /** The values that a read_committed reader must see in the partition, in order. */
  values(topic: string, partition?: number): Promise<(string | null)[]>;
  /** Waits until these are all the values of partition 0. */
  has(topic: string, ...values: readonly string[]): Promise<void>;
}

/** A test on real brokers, with raw kafkajs and a proxy at hand; skipped, with the reason, where there is no broker. */
export function testOnBroker(title: string, run: (t: TestContext, raw: RawCluster) => Promise<void>): void {
  test(title, async (t) => {
    const stack = await stackOrSkip(t);
    if (stack) await run(t, await openRawCluster(t, stack.brokers));
  });
}

/** All that is opened is closed when the test ends. */
async function openRawCluster(t: TestContext, brokers: readonly string[]): Promise<RawCluster> {
  const raw = loadRawKafkajs();
  const proxy = await startTcpProxies(brokers);
  const client = (settings: Partial<KafkaConfig> = {}) =>
    new raw.Kafka({
      brokers: [...brokers],
      clientId: 'raw',
      logLevel: raw.logLevel.NOTHING,
      connectionTimeout: 10_000,
      requestTimeout: 10_000,
      retry: PRODUCER_SETTINGS.retry,
      ...settings,
    });
  const direct = client();
  // A topic just created is not known at once: the admin client may ask more often than a producer in a test.
  const admin = direct.admin({ retry: { retries: 8, initialRetryTime: 50, maxRetryTime: 1_000 } });
  await admin.connect();
  const topics: string[] = [];
  t.after(async () => {
    // Nobody minds a topic that is left: its name is its test's own, and the broker goes with the run.
    if (topics.length > 0) await admin.deleteTopics({ topics }).catch(() => undefined);
    await admin.disconnect();
    await proxy.close();
  });

  const cluster: RawCluster = {
    brokers,
    proxy,
    admin,
    client,
    async producer(transactionalId, { through, settings, client: clientSettings } = {}) {
      const route = through && { socketFactory: through.socketFactory as ISocketFactory };
      const producer = client({ ...clientSettings, ...route }).producer({
        createPartitioner: raw.Partitioners.DefaultPartitioner,
        ...PRODUCER_SETTINGS,
        transactionalId,
        ...settings,
      });
      await producer.connect();
      // A producer cut off for ever waits for answers that never come; the proxy's end releases it.
      t.after(() => void producer.disconnect().catch(() => undefined));
      return producer;
    },
    async createTopic({ partitions = 1, settings = {} } = {}) {
      const topic = uniqueName('hazard');
      await admin.createTopics({
        // kafkajs' own waiting fails now and then with "does not host this topic-partition".
        waitForLeaders: false,
        topics: [
          {
            topic,
            numPartitions: partitions,
            replicationFactor: Math.min(MOST_REPLICAS, brokers.length),
            configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
          },
        ],
      });
      topics.push(topic);
      for (let partition = 0; partition < partitions; partition += 1) {
        // Clients ask any broker, so all must know the topic; a look asks until the leader hosts the new partition.
        await Promise.all(brokers.map((broker) => leaderOf(broker, topic, partition)));
        await cluster.view(topic, partition);
      }
      return topic;
    },
    async commit(producer, topic, ...values) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: values.map((value) => ({ value })) });
      await transaction.commit();
    },
    async view(topic, partition = 0, from = 0) {
      return viewPartition({ broker: await leaderOf(brokers[0] ?? '', topic, partition), topic, partition, from });
    },
    viewWhen: (topic, isExpected) => eventually('the partition is as expected', () => cluster.view(topic), isExpected),
    settled: (topic, partition, from) =>
      eventually(
        'nothing is open',
        () => cluster.view(topic, partition, from),
        ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
      ),
    async values(topic, partition = 0) {
      return (await cluster.view(topic, partition)).committed.map((record) => record.value);
    },
    async has(topic, ...values) {
      await eventually(
        `${values.join()} is committed`,
        () => cluster.values(topic),
        (found) => found.join() === values.join(),
      );
    },
  };
  return cluster;
}

export function uniqueName(stem: string): string {
  return `${stem}-${randomUUID().slice(0, 12)}`;
}
