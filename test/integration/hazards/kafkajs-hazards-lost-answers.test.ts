import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import type { Fault } from '../../support/network/tcp-proxy-faults.ts';

/** What is lost of the request that ends a transaction, and whether the transaction is committed then. */
const LOSSES: readonly { readonly fault: Fault; readonly committed: boolean }[] = [
  { fault: 'cutAnswer', committed: true },
  { fault: 'dropAnswer', committed: true },
  { fault: 'cutRequest', committed: false },
  { fault: 'dropRequest', committed: false },
];

/** Only where a message is swallowed must a request be given up; long enough for those that are answered. */
const REQUEST_TIMEOUT_MS = 2_000;

for (const { fault, committed } of LOSSES) {
  const truth = committed ? 'is committed' : 'is not committed';

  testOnBroker(
    `H4: raw kafkajs is wedged for ever after ${fault} of EndTxn, and cannot detect that the page ${truth}`,
    async (_t, raw) => {
      const topic = await raw.createTopic();
      const client = { requestTimeout: REQUEST_TIMEOUT_MS };
      const producer = await raw.producer(uniqueName('wedged'), { through: raw.proxy, client });
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value: 'page' }] });
      raw.proxy.addRule({ on: 'EndTxn', fault });
      await assert.rejects(transaction.commit());
      await assert.rejects(transaction.commit(), /once ended/);
      await assert.rejects(transaction.abort(), /once ended/);
      await assert.rejects(producer.transaction(), /Transaction state exception/);
      await raw.has(topic, ...(committed ? ['page'] : []));
    },
  );

  testOnBroker(
    `H4: our writer opens again after ${fault} of EndTxn, and reads that the page ${truth}`,
    async (t, raw) => {
      const topic = await raw.createTopic();
      const ours = openOurCluster(t, { ...raw, tuning: { requestTimeoutMs: REQUEST_TIMEOUT_MS } });
      const writer = ours.transactionalWriter(uniqueName('ours'));
      await writer.open(noPosition, t.signal);
      const rule = raw.proxy.addRule({ on: 'EndTxn', fault });
      await assert.rejects(writer.commit({ records: [textRecord(topic, 'page')] }), { code: 'TRANSACTION_FAILED' });
      assert.equal(rule.hits(), 1);

      const position = await writer.open(() => readValues(ours, topic), t.signal);
      assert.deepEqual(position, committed ? ['page'] : []);
      await writer.commit({ records: [textRecord(topic, 'next page')] });
      await raw.has(topic, ...(committed ? ['page'] : []), 'next page');
    },
  );
}

testOnBroker(
  'H14: raw kafkajs gives up when one InitProducerId, AddOffsetsToTxn or TxnOffsetCommit is cut',
  async (_t, raw) => {
    const topic = await raw.createTopic();
    for (const api of ['InitProducerId', 'AddOffsetsToTxn', 'TxnOffsetCommit'] as const) {
      const producer = await raw.producer(uniqueName('not-retried'), { through: raw.proxy });
      const before = raw.proxy.trace.length;
      raw.proxy.addRule({ on: api, fault: 'cutRequest' });
      const writeOffsets = async () => {
        const transaction = await producer.transaction();
        const topics = [{ topic, partitions: [{ partition: 0, offset: '1' }] }];
        await transaction.sendOffsets({ consumerGroupId: uniqueName('group'), topics });
      };
      await assert.rejects(writeOffsets(), /Closed connection/, api);
      const asked = raw.proxy.trace.slice(before).filter((request) => request.api === api);
      assert.equal(asked.length, 1, `${api} was asked once and never again`);
    }
  },
);

testOnBroker('H14: our writer opens although InitProducerId is cut, several times in a row', async (t, raw) => {
  const topic = await raw.createTopic();
  const writer = openOurCluster(t, raw).transactionalWriter(uniqueName('ours'));
  const cutRequests = raw.proxy.addRule({ on: 'InitProducerId', fault: 'cutRequest', times: 2 });
  const cutAnswers = raw.proxy.addRule({ on: 'InitProducerId', fault: 'cutAnswer', times: 2 });
  await writer.open(noPosition, t.signal);
  assert.deepEqual([cutRequests.hits(), cutAnswers.hits()], [2, 2]);
  await writer.commit({ records: [textRecord(topic, 'page')] });
  await raw.has(topic, 'page');
});
