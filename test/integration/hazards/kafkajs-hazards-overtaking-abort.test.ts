import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** While the test holds a request, it must not count as unanswered. */
const PATIENT = { requestTimeout: 60_000 };
const ALWAYS = Number.POSITIVE_INFINITY;
/** From now on the client believes that its connection broke, and the broker gets the records when they are let go. */
function sendLate(t: TestContext, raw: RawCluster) {
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const late = raw.proxy.addRule({ on: 'Produce', fault: 'deliverLate', until: gate.promise, times: ALWAYS });
  return {
    /** The records of this work set out before the late ones come, and arrive behind them. */
    async overtake(work: () => Promise<void>) {
      raw.proxy.clearRules();
      const behind = Promise.withResolvers<void>();
      t.after(() => behind.resolve());
      const next = raw.proxy.addRule({ on: 'Produce', fault: 'delayRequest', until: behind.promise });
      const working = work();
      await Promise.race([working, eventually('the next records are on their way', next.hits, (hits) => hits > 0)]);
      gate.resolve();
      await eventually('the late ones have come', late.answeredLate, (answered) => answered === late.hits());
      behind.resolve();
      await working;
    },
  };
}

/** Waits until nothing is open, and gives what a reader sees. */
async function committed(raw: RawCluster, topic: string) {
  const view = await raw.settled(topic);
  return view.committed.map(({ value }) => value);
}

testOnBroker(
  'H5: an abort of raw kafkajs overtakes what it aborts, which the next transaction then commits in place of its own',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const producer = await raw.producer(uniqueName('overtaking'), { through: raw.proxy, client: PATIENT });
    const failing = await producer.transaction();
    const late = sendLate(t, raw);
    await assert.rejects(failing.send({ topic, messages: [{ value: 'aborted' }] }));
    raw.proxy.clearRules();
    await failing.abort();
    const come = (await raw.view(topic)).batches.flatMap(({ records }) => records);
    assert.deepEqual(come, [], 'nothing has come yet');

    const next = await producer.transaction();
    await late.overtake(async () => {
      await next.send({ topic, messages: [{ value: 'acknowledged' }] });
    });
    await next.commit();
    assert.deepEqual(await committed(raw, topic), ['aborted']);
  },
);

testOnBroker(
  'H5: what our writer gave up and comes late is seen by nobody, and the next page is whole',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const tuning = { requestTimeoutMs: PATIENT.requestTimeout };
    const writer = openOurCluster(t, { ...raw, tuning }).transactionalWriter(uniqueName('ours'));
    await writer.open(noPosition, t.signal);
    const late = sendLate(t, raw);
    await assert.rejects(writer.commit({ records: [textRecord(topic, 'given up')] }), { code: 'TRANSACTION_FAILED' });
    raw.proxy.clearRules();
    await writer.open(noPosition, t.signal);
    await late.overtake(() => writer.commit({ records: [textRecord(topic, 'acknowledged')] }));
    assert.deepEqual(await committed(raw, topic), ['acknowledged']);
  },
);
