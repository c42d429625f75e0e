import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import type { Fault } from '../../support/network/tcp-proxy-faults.ts';
import { eventually } from '../../support/runner/eventually.ts';

testOnBroker('H10: a raw producer that is no member commits offsets of a group that has one', async (t, raw) => {
  const topic = await raw.createTopic();
  const groupId = uniqueName('group');
  const consumer = raw.client().consumer({ groupId, maxWaitTimeInMs: 100 });
  t.after(() => consumer.disconnect());
  const joined = Promise.withResolvers<void>();
  consumer.on(consumer.events.GROUP_JOIN, () => joined.resolve());
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({ autoCommit: false, eachMessage: async () => {} });
  await joined.promise;

  const zombie = await raw.producer(uniqueName('zombie'));
  const transaction = await zombie.transaction();
  const topics = [{ topic, partitions: [{ partition: 0, offset: '1234' }] }];
  await transaction.sendOffsets({ consumerGroupId: groupId, topics });
  await transaction.commit();
  const committed = async () => (await raw.admin.fetchOffsets({ groupId, topics: [topic] }))[0]?.partitions[0]?.offset;
  await eventually('the offset is committed', committed, (offset) => offset === '1234');
});

testOnBroker(
  'H10: of our writers, only the newest holder of the transactional id commits an offset',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const [ours, theirs] = [openOurCluster(t, raw), openOurCluster(t, { brokers: raw.brokers })];
    const transactionalId = uniqueName('shared');
    const offset = { groupId: uniqueName('group'), topic, partition: 0 };
    const position = async () => (await theirs.consumerOffset(offset.groupId, offset, t.signal))?.offset;
    const zombie = ours.transactionalWriter(transactionalId);
    await zombie.open(noPosition, t.signal);
    await zombie.commit({ records: [], consumerOffset: { ...offset, offset: 1n } });
    const heir = theirs.transactionalWriter(transactionalId);
    assert.equal(await heir.open(position, t.signal), 1n);
    await assert.rejects(zombie.commit({ records: [], consumerOffset: { ...offset, offset: 1234n } }), {
      code: 'WRITER_FENCED',
    });
    await heir.commit({ records: [], consumerOffset: { ...offset, offset: 2n } });
    assert.equal(await heir.open(position, t.signal), 2n);
  },
);

const ALONE = 40;
/** At rest, nearly half of the raw producers fail; on a busy machine, only a few. */
const MOST_RAW = 400;
const OFFSETS = Array.from({ length: 10 }, (_, at) => String(at + 1));
/** Only where an answer is swallowed must a request be given up; long enough for those that are answered. */
const REQUEST_TIMEOUT_MS = 2_000;

testOnBroker(
  'H18: an offset alone, close behind another transaction, is refused to a raw producer, and not to ours',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const groupId = uniqueName('group');
    let refused = 0;
    for (let producers = 0; refused === 0 && producers < MOST_RAW; producers++) {
      const producer = await raw.producer(uniqueName('raw'));
      try {
        for (const offset of OFFSETS) {
          const transaction = await producer.transaction();
          const topics = [{ topic, partitions: [{ partition: 0, offset }] }];
          await transaction.sendOffsets({ consumerGroupId: groupId, topics });
          await transaction.commit();
        }
      } catch (error) {
        assert.match(String(error), /another concurrent operation/);
        refused += 1;
      }
    }
    assert.ok(refused > 0, 'none was refused: is the hazard gone?');

    const ours = openOurCluster(t, raw);
    const writer = ours.transactionalWriter(uniqueName('ours'));
    const place = { groupId: uniqueName('group'), topic, partition: 0 };
    await writer.open(noPosition, t.signal);
    for (let offset = 1; offset <= ALONE; offset++)
      await writer.commit({ records: [], consumerOffset: { ...place, offset: BigInt(offset) } });
    assert.equal(
      await (await writer.open(() => ours.consumerOffset(place.groupId, place, t.signal), t.signal))?.offset,
      BigInt(ALONE),
    );
  },
);

for (const api of ['AddOffsetsToTxn', 'TxnOffsetCommit'] as const) {
  for (const fault of ['cutRequest', 'cutAnswer', 'dropAnswer'] satisfies Fault[]) {
    testOnBroker(`H14: our writer opens again after ${fault} of ${api}, and nothing is committed`, async (t, raw) => {
      const topic = await raw.createTopic();
      const ours = openOurCluster(t, { ...raw, tuning: { requestTimeoutMs: REQUEST_TIMEOUT_MS } });
      const writer = ours.transactionalWriter(uniqueName('ours'));
      const offset = { groupId: uniqueName('group'), topic, partition: 0, offset: 7n };
      const position = async () => (await ours.consumerOffset(offset.groupId, offset, t.signal))?.offset ?? null;
      await writer.open(noPosition, t.signal);
      const rule = raw.proxy.addRule({ on: api, fault });
      await assert.rejects(writer.commit({ records: [textRecord(topic, 'answer')], consumerOffset: offset }), {
        code: 'TRANSACTION_FAILED',
      });
      assert.equal(rule.hits(), 1);

      assert.equal(await writer.open(position, t.signal), null);
      await writer.commit({ records: [textRecord(topic, 'answer')], consumerOffset: offset });
      assert.equal(await writer.open(position, t.signal), 7n);
      assert.deepEqual(await readValues(ours, topic), ['answer']);
    });
  }
}
