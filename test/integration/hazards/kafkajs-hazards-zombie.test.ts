import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

/** How often the zombie asks in vain whether the partition is still its own. */
const REFUSALS = 3;

testOnBroker('H12: an idle raw zombie begins and aborts transactions without asking the broker', async (_t, raw) => {
  const topic = await raw.createTopic();
  const transactionalId = uniqueName('shared');
  const zombie = await raw.producer(transactionalId, { through: raw.proxy });
  await (await zombie.transaction()).abort();
  const successor = await raw.producer(transactionalId);
  await (await successor.transaction()).abort();

  const before = raw.proxy.trace.length;
  const idle = await zombie.transaction();
  await idle.abort();
  assert.equal(raw.proxy.trace.length, before, 'not one request');
  const writing = await zombie.transaction();
  await assert.rejects(writing.send({ topic, messages: [{ value: 'zombie' }] }), /old epoch/);
});

testOnBroker(
  'H12: our zombie is fenced at its first commit, and does not take the id back without proof',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const transactionalId = uniqueName('shared');
    const [ours, theirs] = [openOurCluster(t, raw), openOurCluster(t, { brokers: raw.brokers })];
    let proven = true;
    let refused = 0;
    const enough = new AbortController();
    const ownershipProof = async () => {
      if (proven) return;
      refused += 1;
      if (refused === REFUSALS) enough.abort(new Error('asked often enough'));
      throw new Error('the partition belongs to another member');
    };
    const zombie = ours.transactionalWriter(transactionalId, { ownershipProof });
    await zombie.open(noPosition, t.signal);
    const successor = theirs.transactionalWriter(transactionalId);
    await successor.open(noPosition, t.signal);

    await assert.rejects(zombie.commit({ records: [textRecord(topic, 'zombie')] }), { code: 'WRITER_FENCED' });
    proven = false;
    const before = raw.proxy.trace.length;
    await assert.rejects(zombie.open(noPosition, enough.signal), /asked often enough/);
    const fences = raw.proxy.trace.slice(before).filter((request) => request.api === 'InitProducerId');
    assert.deepEqual(fences, [], 'the rightful owner was left alone');
    await successor.commit({ records: [textRecord(topic, 'successor')] });
    await raw.has(topic, 'successor');
  },
);

testOnBroker('H12: opening our writer asks the broker each time, and so is itself the fence', async (t, raw) => {
  const writer = openOurCluster(t, raw).transactionalWriter(uniqueName('ours'));
  for (let opened = 1; opened <= 3; opened += 1) {
    await writer.open(noPosition, t.signal);
    assert.equal(raw.proxy.trace.filter((request) => request.api === 'InitProducerId').length, opened);
  }
});
