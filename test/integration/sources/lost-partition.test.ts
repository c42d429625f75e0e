import assert from 'node:assert/strict';
import type { Assignor, GroupReaderOptions } from '../../../src/kafka/group-reader.ts';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** Nothing but the end of the session is to end the first owner's time, however long the test keeps its heartbeat. */
const TUNING = {
  groupSessionTimeoutMs: 4_000,
  proofMs: 500,
  requestTimeoutMs: 120_000,
  readStallMs: 120_000,
};

/** A member that describes itself as the heir gets the partition. */
function assignorOf(topic: string, name: string): Assignor {
  return {
    name: 'heirs',
    describe: () => name,
    assign(members) {
      const holder = members.find(({ description }) => description === 'heir') ?? members[0];
      return new Map(holder && [[holder.id, [{ topic, partition: 0 }]]]);
    },
  };
}

testOnBroker('a member that lost its partition and was not informed yet begins no transaction', async (t, raw) => {
  const [topic, groupId, transactionalId] = [await raw.createTopic(), uniqueName('group'), uniqueName('shared')];
  const slow = openOurCluster(t, { ...raw, tuning: TUNING });
  const heir = openOurCluster(t, { brokers: raw.brokers, tuning: TUNING });
  const join = (cluster: typeof slow, name: string) => {
    const held = Promise.withResolvers<Parameters<GroupReaderOptions['assigned']>>();
    const running = cluster.groupReader.run({
      groupId,
      topics: [topic],
      assignor: assignorOf(topic, name),
      signal: t.signal,
      async assigned(...given) {
        held.resolve(given);
        return { position: () => 0n, take: async () => {} };
      },
    });
    running.catch(held.reject);
    return held.promise;
  };
  const [, lost, ownershipProof] = await join(slow, 'first');
  const writer = slow.transactionalWriter(transactionalId, { ownershipProof });
  await writer.open(noPosition, t.signal);
  await writer.commit({ records: [textRecord(topic, 'first')] });

  const arrival = Promise.withResolvers<void>();
  t.after(() => arrival.resolve());
  const silence = raw.proxy.addRule({ on: 'Heartbeat', fault: 'delayRequest', until: arrival.promise });
  await eventually('a heartbeat is on its way for long', silence.hits, (hits) => hits > 0);
  await join(heir, 'heir');
  assert.equal(lost.aborted, false, 'the first owner knows nothing of its heir');
  const from = raw.proxy.trace.length;
  // The heir is not at its fence yet, so nothing but what the group says keeps the first owner from writing.
  const reported = assert.rejects(writer.commit({ records: [textRecord(topic, 'from a past owner')] }), {
    code: 'TRANSACTION_FAILED',
  });
  arrival.resolve();
  await reported;
  assert.equal(lost.aborted, true);
  const written = raw.proxy.trace.slice(from).filter(({ api }) => /Produce|Txn/.test(api));
  assert.deepEqual(written, []);

  const heirs = heir.transactionalWriter(transactionalId);
  await heirs.open(noPosition, t.signal);
  await heirs.commit({ records: [textRecord(topic, 'heir')] });
  const committed = () => raw.values(topic);
  await eventually('only owners wrote', committed, (values) => values.join() === 'first,heir');
});
