import assert from 'node:assert/strict';
import type { GroupReaderOptions } from '../../../src/kafka/group-reader.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

const BACK_MS = 3_600_000;
const PATIENCE_MS = 300_000;

testOnBroker('a wall clock that is set back by an hour holds up nobody for that hour', async (t, raw) => {
  const topic = await raw.createTopic();
  const cluster = openOurCluster(t, { brokers: raw.brokers, tuning: { readStallMs: 4_000 } });
  const membership = (signal: AbortSignal) => {
    const held = Promise.withResolvers<Parameters<GroupReaderOptions['assigned']>>();
    const ended = cluster.groupReader.run({
      groupId: topic,
      topics: [topic],
      signal,
      async assigned(...given) {
        held.resolve(given);
        return { position: () => 0n, take: async () => {} };
      },
    });
    ended.catch(held.reject);
    return { held: held.promise, ended };
  };
  const first = membership(t.signal);
  await first.held;

  const now = Date.now;
  t.mock.method(Date, 'now', () => now() - BACK_MS);
  const outcome = await Promise.race([
    first.ended.catch((error: unknown) => error),
    systemClock.sleep(PATIENCE_MS, t.signal).then(() => 'no heartbeat, and nobody minds'),
  ]);
  assert.equal(outcome instanceof Error && 'action' in outcome && outcome.action, 'retry', String(outcome));

  const second = membership(t.signal);
  const [, , ownershipProof] = await second.held;
  const writer = cluster.transactionalWriter(uniqueName('writer'), { ownershipProof });
  await writer.open(noPosition, t.signal);
  await writer.commit({ records: [textRecord(topic, 'goes on')] });
});
