import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { kafkaTest } from '../../support/kafka/kafka-real.ts';

kafkaTest('every planned topic can be created as planned, and is then found without drift', async (_t, kafka) => {
  const cluster = kafka.connect();
  const plan = topicPlan({ prefix: `test-${randomUUID()}`, names: {}, partitions: 2, replicationFactor: 1 });
  const topics = Object.values(plan);
  const created = await cluster.ensureTopics(topics, { create: true });
  assert.deepEqual(created.created.toSorted(), topics.map(({ name }) => name).toSorted());
  const found = await cluster.ensureTopics(topics, { create: false });
  assert.deepEqual([found.created, found.warnings], [[], []]);
  assert.equal(found.maxMessageBytes.get(plan.instruments.name), 4 * 1024 * 1024);
  assert.equal(found.maxMessageBytes.get(plan['dead-letters'].name), 1_048_588);
});

kafkaTest('a topic that the broker refuses to create is named with the reason', async (_t, kafka) => {
  const cluster = kafka.connect();
  const name = `test-${randomUUID()}`;
  const topic = { name, partitions: 1, replicationFactor: 99, settings: {} };
  for (const how of [{ create: true }, { create: false, tryCreation: true }]) {
    await assert.rejects(cluster.ensureTopics([topic], how), {
      code: 'TOPIC_NOT_CREATED',
      message: new RegExp(`refuses to create topic ${name} .INVALID_REPLICATION_FACTOR`),
    });
  }
  // One that they would create is missing still.
  const possible = cluster.ensureTopics([{ ...topic, replicationFactor: 1 }], { create: false, tryCreation: true });
  await assert.rejects(possible, { code: 'TOPIC_MISSING' });
});

kafkaTest('several processes that start at once agree on the topics', async (_t, kafka) => {
  const name = `test-${randomUUID()}`;
  const topics = ['a', 'b', 'c'].map((part) => ({
    name: `${name}-${part}`,
    partitions: 2,
    replicationFactor: 1,
    settings: { 'cleanup.policy': 'compact' },
  }));
  const clusters = await Promise.all([kafka.connect(), kafka.connect(), kafka.connect()]);
  const reports = await Promise.all(clusters.map((cluster) => cluster.ensureTopics(topics, { create: true })));
  const created = reports.flatMap((report) => report.created);
  const names = topics.map((topic) => topic.name);
  assert.deepEqual(created.toSorted(), names);
});

kafkaTest('a topic that may be refused stands in the report, and the others are verified', async (_t, kafka) => {
  const cluster = kafka.connect();
  const prefix = `test-${randomUUID()}`;
  const { instruments, prices, states } = topicPlan({ prefix, names: {}, partitions: 3, replicationFactor: 1 });
  await cluster.ensureTopics([states, { ...instruments, partitions: 2 }], { create: true });
  const mayBeRefused = new Set([instruments.name, prices.name]);
  const asked = [instruments, prices, states];
  const { refused, maxMessageBytes } = await cluster.ensureTopics(asked, { create: false, mayBeRefused });
  assert.deepEqual(
    [...refused].map(([name, { code }]) => [name, code]),
    [
      [prices.name, 'TOPIC_MISSING'],
      [instruments.name, 'TOPIC_MISMATCH'],
    ],
  );
  assert.deepEqual([...maxMessageBytes.keys()], [states.name]);
  const needed = cluster.ensureTopics(asked, { create: false, mayBeRefused: new Set([instruments.name]) });
  await assert.rejects(needed, { code: 'TOPIC_MISSING' });
});
