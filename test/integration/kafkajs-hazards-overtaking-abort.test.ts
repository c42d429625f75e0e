import assert from 'node:assert/strict';
import { eventually, type RawCluster, testOnBroker, uniqueName } from '../support/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../support/tcp-proxy-cluster.ts';

const ALWAYS = Number.POSITIVE_INFINITY;
/** Longer than all retries of a send, and its abort, take. */
const LATE_MS = 3_000;
/** The next page's records set out before the late ones come, and arrive behind them. */
const BEHIND_MS = LATE_MS + 2_000;

const PATIENT = { requestTimeout: 2 * BEHIND_MS };

/** From now on the client believes that its connection broke, and the broker gets the records later. */
function sendLate(raw: RawCluster) {
  raw.proxy.addRule({ on: 'Produce', fault: 'deliverLate', delayMs: LATE_MS, times: ALWAYS });
}

/** Waits until nothing is open, and gives what a reader sees. */
async function committed(raw: RawCluster, topic: string) {
  const view = await eventually(
    'nothing is open',
    () => raw.view(topic),
    ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
  );
  return view.committed.map(({ value }) => value);
}

testOnBroker(
  'H5: an abort of raw kafkajs overtakes what it aborts, which the next transaction then commits in place of its own',
  async (_t, raw) => {
    const topic = await raw.createTopic();
    const producer = await raw.producer(uniqueName('overtaking'), { through: raw.proxy, client: PATIENT });
    const failing = await producer.transaction();
    sendLate(raw);
    await assert.rejects(failing.send({ topic, messages: [{ value: 'aborted' }] }));
    raw.proxy.clearRules();
    await failing.abort();
    assert.deepEqual(
      (await raw.view(topic)).batches.flatMap(({ records }) => records),
      [],
      'nothing has come yet',
    );

    raw.proxy.addRule({ on: 'Produce', fault: 'delayRequest', delayMs: BEHIND_MS });
    const next = await producer.transaction();
    await next.send({ topic, messages: [{ value: 'acknowledged' }] });
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
    sendLate(raw);
    await assert.rejects(writer.commit([textRecord(topic, 'given up')]), { code: 'TRANSACTION_FAILED' });
    raw.proxy.clearRules();
    await writer.open(noPosition, t.signal);
    raw.proxy.addRule({ on: 'Produce', fault: 'delayRequest', delayMs: BEHIND_MS });
    await writer.commit([textRecord(topic, 'acknowledged')]);
    assert.deepEqual(await committed(raw, topic), ['acknowledged']);
  },
);
