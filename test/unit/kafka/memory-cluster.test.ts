import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafkaContract } from '../../support/kafka/kafka-contract.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryStep } from '../../support/memory-kafka/memory-cluster.ts';

testKafkaContract('memory', async () => {
  const broker = new MemoryBroker(() => 1);
  return {
    cluster: createMemoryCluster({ broker }),
    async leaveOpen(transactionalId, records) {
      broker.append(transactionalId, broker.initProducer(transactionalId), records);
    },
  };
});

const topic = { name: 't', partitions: 1, replicationFactor: 1, settings: {} };
const record = (value: string) => ({
  topic: 't',
  partition: 0,
  key: Buffer.from('k'),
  value: Buffer.from(value),
  headers: {},
});

async function writerFailingAt(failing: MemoryStep) {
  const broker = new MemoryBroker(() => 1);
  const onStep = (step: MemoryStep) => {
    if (step === failing) throw new Error(`killed at ${step}`);
  };
  broker.createTopic(topic);
  const signal = new AbortController().signal;
  const dying = createMemoryCluster({ broker, onStep }).transactionalWriter('id');
  const heir = createMemoryCluster({ broker }).transactionalWriter('id');
  return { broker, dying, heir, signal };
}

const values = (broker: MemoryBroker) => broker.readCommitted('t', 0).map(({ value }) => String(value));

for (const [step, visible] of [
  ['sending', []],
  ['sent', []],
  ['committing', []],
  ['committed', ['a']],
] as const) {
  test(`a writer killed at the step "${step}" leaves ${visible.length} records to see after the next opening`, async () => {
    const { broker, dying, heir, signal } = await writerFailingAt(step);
    await dying.open(async () => {}, signal);
    await assert.rejects(dying.commit({ records: [record('a')] }), { code: 'TRANSACTION_FAILED' });
    const seen = await heir.open(async () => values(broker), signal);
    assert.deepEqual(seen, visible);
    assert.equal(broker.hasOpenTransaction(), false);
  });
}

test('a transaction that was left open hides what others committed behind it', async () => {
  const { broker, dying, signal } = await writerFailingAt('sent');
  await dying.open(async () => {}, signal);
  await assert.rejects(dying.commit({ records: [record('open')] }));
  const other = createMemoryCluster({ broker }).transactionalWriter('other');
  await other.open(async () => {}, signal);
  await other.commit({ records: [record('behind')] });
  assert.deepEqual(values(broker), []);
  assert.equal(broker.hasOpenTransaction(), true);
});
