import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ISocketFactory, KafkaConfig, Producer, ProducerConfig } from 'kafkajs';
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

/** The tests' topics are led by one broker or another, and the others follow. */
const MOST_REPLICAS = 3;

export type RawCluster = Awaited<ReturnType<typeof openRawCluster>>;

/** A test on real brokers, with raw kafkajs and a proxy at hand; skipped, with the reason, where there is no broker. */
export function testOnBroker(title: string, run: (t: TestContext, raw: RawCluster) => Promise<void>): void {
  test(title, async (t) => {
    const stack = await stackOrSkip(t);
    if (stack) await run(t, await openRawCluster(t, stack.brokers));
  });
}

/**
 * Raw kafkajs at work in one test: clients straight to the brokers and through proxies, and topics of its own. All that is
 * opened is closed when the test ends.
 *
 * @param brokers `host:port` of each; one, unless the run was asked for more
 */
async function openRawCluster(t: TestContext, brokers: readonly string[]) {
  const raw = loadRawKafkajs();
  /** One before each broker, with rules in common. */
  const proxy = await startTcpProxies(brokers);
  /** A client; straight to the brokers unless it is given the proxy's socket factory. */
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

  const view = async (topic: string, partition = 0, from = 0) =>
    viewPartition({ broker: await leaderOf(brokers[0] ?? '', topic, partition), topic, partition, from });
  /** The values that a read_committed reader must see in the partition, in order. */
  const values = async (topic: string, partition = 0) =>
    (await view(topic, partition)).committed.map((record) => record.value);
  return {
    brokers,
    proxy,
    admin,
    client,
    view,
    values,
    /** A connected producer with the project's settings; straight to the brokers unless `through` is the proxy. */
    async producer(
      transactionalId: string,
      own: { through?: TcpProxies; settings?: ProducerConfig; client?: Partial<KafkaConfig> } = {},
    ) {
      const { through, settings, client: clientSettings } = own;
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
    async createTopic(own: { partitions?: number; settings?: Record<string, string> } = {}) {
      const { partitions = 1, settings = {} } = own;
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
        await view(topic, partition);
      }
      return topic;
    },
    async commit(producer: Producer, topic: string, ...values: readonly string[]) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: values.map((value) => ({ value })) });
      await transaction.commit();
    },
    /** A view of partition 0, once it is as expected. */
    viewWhen: (topic: string, isExpected: (view: PartitionView) => boolean) =>
      eventually('the partition is as expected', () => view(topic), isExpected),
    /** A view once nothing is open there. */
    settled: (topic: string, partition?: number, from?: number) =>
      eventually(
        'nothing is open',
        () => view(topic, partition, from),
        ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
      ),
    /** Waits until these are all the values of partition 0. */
    async has(topic: string, ...wanted: readonly string[]) {
      const shown = () => values(topic);
      await eventually(`${wanted.join()} is committed`, shown, (found) => found.join() === wanted.join());
    },
  };
}

export function uniqueName(stem: string): string {
  return `${stem}-${randomUUID().slice(0, 12)}`;
}
