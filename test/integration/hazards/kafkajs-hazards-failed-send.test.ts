import assert from 'node:assert/strict';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

/** A producer used again after a failure loses records nearly every time; the other times it is refused. */
const ROUNDS = 3;
const ALWAYS = Number.POSITIVE_INFINITY;

/** What becomes of a record sent after a failed send and a successful abort, by the same raw producer. */
async function reuseAfterAbort(raw: RawCluster): Promise<'committed' | 'silently lost' | 'refused'> {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('reused'), { through: raw.proxy });
  const failing = await producer.transaction();
  const rule = raw.proxy.addRule({ on: 'Produce', fault: 'cutAnswer', times: ALWAYS });
  await assert.rejects(failing.send({ topic, messages: [{ value: 'aborted' }] }));
  assert.ok(rule.hits() > 0, 'the broker was given the records');
  raw.proxy.clearRules();
  await failing.abort();

  const next = await producer.transaction();
  const sent = await outcomeOf(next.send({ topic, messages: [{ value: 'acknowledged' }] }));
  if ('error' in sent) {
    assert.match(sent.error.message, /sequence number/);
    return 'refused';
  }
  await next.commit();
  const { committed } = await raw.settled(topic);
  return committed.some((record) => record.value === 'acknowledged') ? 'committed' : 'silently lost';
}

testOnBroker(
  'H1: raw kafkajs used again after a failed send and an abort loses acknowledged records',
  async (_t, raw) => {
    const outcomes = [await reuseAfterAbort(raw)];
    while (outcomes.at(-1) === 'committed' && outcomes.length < ROUNDS) outcomes.push(await reuseAfterAbort(raw));
    assert.notEqual(outcomes.at(-1), 'committed', `all of ${outcomes.length} rounds were good: is the hazard gone?`);
  },
);

testOnBroker(
  'H1: our writer is dead after a failed send, and what it commits once opened again is there',
  async (t, raw) => {
    const ours = openOurCluster(t, raw);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const topic = await raw.createTopic();
      const writer = ours.transactionalWriter(uniqueName('ours'));
      await writer.open(noPosition, t.signal);
      raw.proxy.addRule({ on: 'Produce', fault: 'cutAnswer', times: ALWAYS });
      await assert.rejects(writer.commit({ records: [textRecord(topic, 'aborted')] }), { code: 'TRANSACTION_FAILED' });
      raw.proxy.clearRules();
      await assert.rejects(writer.commit({ records: [textRecord(topic, 'too early')] }), { code: 'WRITER_CLOSED' });

      await writer.open(noPosition, t.signal);
      await writer.commit({ records: [textRecord(topic, 'acknowledged')] });
      await raw.has(topic, 'acknowledged');
      assert.deepEqual(await readValues(ours, topic), ['acknowledged']);
    }
  },
);

testOnBroker('H2: raw kafkajs commits half a transaction after a failed send', async (_t, raw) => {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('partial'), { through: raw.proxy });
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: 'first half' }] });
  raw.proxy.addRule({ on: 'Produce', fault: 'cutRequest', times: ALWAYS });
  await assert.rejects(transaction.send({ topic, messages: [{ value: 'second half' }] }));
  await transaction.commit();
  await raw.has(topic, 'first half');
});

testOnBroker('H2: our writer commits nothing of a transaction whose second send failed', async (t, raw) => {
  const topic = await raw.createTopic({ partitions: 2 });
  const oneBatchARound = { maxRoundBytes: 1 };
  const ours = openOurCluster(t, { ...raw, tuning: oneBatchARound });
  const writer = ours.transactionalWriter(uniqueName('ours'));
  await writer.open(noPosition, t.signal);
  const rule = raw.proxy.addRule({ on: 'Produce', fault: 'cutRequest', skip: 1, times: ALWAYS });
  const halves = [textRecord(topic, 'first half', 0), textRecord(topic, 'second half', 1)];
  await assert.rejects(writer.commit({ records: halves }), { code: 'TRANSACTION_FAILED' });
  assert.ok(rule.hits() > 0);
  raw.proxy.clearRules();

  const seenByOpen = await writer.open(() => raw.view(topic, 0), t.signal);
  assert.deepEqual(seenByOpen.committed, []);
  assert.equal(seenByOpen.lastStableOffset, seenByOpen.highWatermark, 'the open transaction has ended');
  await writer.commit({ records: halves });
  const ofBoth = async () => [await raw.values(topic, 0), await raw.values(topic, 1)].join('|');
  await eventually('both halves are committed', ofBoth, (values) => values === 'first half|second half');
});
