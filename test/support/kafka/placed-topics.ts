import type { TestContext } from 'node:test';
import type { Admin, Kafka } from 'kafkajs';
import { eventually, outcomeOf } from '../runner/eventually.ts';
import { loadRawKafkajs } from './raw-kafkajs.ts';

interface PlacedTopic {
  readonly topic: string;
  /** Of each partition: the brokers that hold it, the leader first. */
  readonly replicas: readonly (readonly number[])[];
  /** So many of them have to be there for a write. */
  readonly inSync?: number;
}

/** Raw kafkajs: ours asks for no leaders of foreign topics. */
export async function rawAdmin(
  t: TestContext,
  brokers: readonly string[],
): Promise<{ readonly raw: Kafka; readonly admin: Admin }> {
  const { Kafka, logLevel } = loadRawKafkajs();
  const retry = { retries: 10, initialRetryTime: 50, maxRetryTime: 500 };
  const raw = new Kafka({ brokers: [...brokers], clientId: 'raw', logLevel: logLevel.NOTHING, retry });
  const admin = raw.admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  return { raw, admin };
}

/** Resolves when each partition has its leader. */
export async function placeTopics(admin: Admin, placed: readonly PlacedTopic[]): Promise<void> {
  const topics = placed.map(({ topic, replicas, inSync = 1 }) => ({
    topic,
    replicaAssignment: replicas.map((nodes, partition) => ({ partition, replicas: [...nodes] })),
    configEntries: [{ name: 'min.insync.replicas', value: String(inSync) }],
  }));
  await admin.createTopics({ waitForLeaders: false, topics });
  const leaders = async () => {
    const found = await outcomeOf(admin.fetchTopicMetadata());
    const all = 'value' in found ? found.value.topics : [];
    return placed.map(({ topic }) => all.find(({ name }) => name === topic)?.partitions.map(({ leader }) => leader));
  };
  await eventually('every partition has its leader', leaders, (all) =>
    all.every((led, at) => led?.length === placed[at]?.replicas.length && led?.every((leader) => leader > 0)),
  );
}
