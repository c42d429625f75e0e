import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

/** Long enough for whatever is answered, on a slow machine too. */
const REQUEST_TIMEOUT_MS = 1_500;
const RETRIES = 2;

testOnBroker('H13: raw kafkajs asks again and again on the same dead connection', async (_t, raw) => {
  const topic = await raw.createTopic();
  const settings = { retry: { retries: RETRIES, initialRetryTime: 20, maxRetryTime: 50 } };
  const client = { requestTimeout: REQUEST_TIMEOUT_MS };
  const producer = await raw.producer(uniqueName('deaf'), { through: raw.proxy, settings, client });
  const transaction = await producer.transaction();
  raw.proxy.addRule({ on: 'Produce', fault: 'blackHole' });
  const begin = performance.now();
  await assert.rejects(transaction.send({ topic, messages: [{ value: 'unheard' }] }), /timed out/);
  const tookMs = performance.now() - begin;

  const asked = raw.proxy.trace.filter((request) => request.api === 'Produce');
  assert.equal(asked.length, RETRIES + 1);
  assert.equal(new Set(asked.map((request) => request.connection)).size, 1, 'all on one connection');
  assert.ok(tookMs >= (RETRIES + 1) * REQUEST_TIMEOUT_MS, `${tookMs} ms`);
});

testOnBroker('H13: our writer leaves a dead connection after the first request without an answer', async (t, raw) => {
  const topic = await raw.createTopic();
  const tuning = { requestTimeoutMs: REQUEST_TIMEOUT_MS, retries: RETRIES };
  const writer = openOurCluster(t, { ...raw, tuning }).transactionalWriter(uniqueName('ours'));
  await writer.open(noPosition, t.signal);
  raw.proxy.addRule({ on: 'Produce', fault: 'blackHole' });
  await assert.rejects(writer.commit({ records: [textRecord(topic, 'unheard')] }), { code: 'TRANSACTION_FAILED' });
  const asked = raw.proxy.trace.filter((request) => request.api === 'Produce').length;
  assert.equal(asked, 1, 'given up at the first request without an answer');

  await writer.open(noPosition, t.signal);
  await writer.commit({ records: [textRecord(topic, 'heard')] });
  const produced = raw.proxy.trace.filter((request) => request.api === 'Produce');
  const lost = produced.find((request) => request.fault === 'blackHole');
  // The producer left behind may still be asking in the black hole.
  const heard = produced.find((request) => request.fault === undefined);
  assert.notEqual(heard?.connection, lost?.connection, 'the next page went another way');
  await raw.has(topic, 'heard');
});
