import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip } from '../../support/kafka/stack.ts';
import { fencePrices, onceRight, pricesOnTopics, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';

const INSTRUMENTS = 60;
const PARTITIONS = [0, 1, 2, 3, 4, 5];

test('a topic of instruments that is deleted and created again is filled by a walk at once, and priced', {
  timeout: 1_200_000,
}, async (t) => {
  const stack = await stackOrSkip(t);
  const real = await kafkaOrSkip(t);
  if (!stack || !real) return;
  const kafka = real.connect();
  const admin = real.plain().admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 4 });
  t.after(() => simulator.close());
  const prefix = `test-${randomUUID()}`;
  const plan = topicPlan({ prefix, names: {}, partitions: PARTITIONS.length, replicationFactor: 1 });
  const start = () =>
    startConnector(t, {
      stack,
      simulator,
      prefix,
      source: { walkInterval: '365d' },
      more: `
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices: { linger: 50ms, kinds: { overview: { refreshInterval: 1h } } }`,
    });
  const replace = async (...roles: (keyof typeof plan)[]) => {
    const specifications = roles.map((role) => plan[role]);
    const names = specifications.map(({ name }) => name);
    const before = await kafka.topicIds(names, t.signal);
    await admin.deleteTopics({ topics: names });
    // A broker may show a deleted topic for a while.
    await onceRight(async () => {
      await kafka.ensureTopics(specifications, { create: true });
      const now = await kafka.topicIds(names, t.signal);
      const left = names.filter((name) => !now.has(name) || now.get(name) === before.get(name));
      return left.length === 0 ? null : `${left} not created again`;
    });
  };
  const filled = () =>
    onceRight(async () => {
      const { waiting, all } = await unansweredInputs(kafka, prefix);
      return waiting > 0 || all < INSTRUMENTS ? `${waiting} of ${all} records wait for a price` : null;
    });
  const started = (connector: Awaited<ReturnType<typeof start>>) =>
    connector.seen.flatMap(({ name, fields }) => (name === 'walkStarted' ? [fields.why] : []));

  const first = await start();
  await filled();

  await replace('instruments', 'instrument-events', 'prices');
  await filled();
  assert.deepEqual(started(first), ['first', 'topicReplaced']);
  const { offset } = simulator.publish({ kind: 'datachange', id: [...simulator.ledger.instruments()][0]?.id ?? '' });
  await onceRight(async () => {
    const events = await readCommitted(kafka, plan['instrument-events'].name, PARTITIONS);
    return events.length === 1 ? null : `${events.length} events, and not that at ${offset}`;
  });
  await first.stop();

  await replace('instruments');
  const second = await start();
  await filled();
  assert.deepEqual(started(second), ['topicReplaced']);
  const notified = await readCommitted(kafka, plan.notifications.name);
  const why = notified.flatMap(({ value }) => String(value).match(/deleted, created again or renamed/) ?? []);
  assert.equal(why.length, 2);
  await second.stop();
  await fencePrices(kafka, prefix);
  const { inputs, results } = await pricesOnTopics(kafka, prefix);
  const priced = new Set(results.flatMap(({ kind, id }) => (kind === 'price' ? [id] : [])));
  assert.deepEqual(priced, new Set(inputs.map(({ id }) => id)));
});
