import assert from 'node:assert/strict';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { createTopic, kafkaTest } from '../../support/kafka/kafka-real.ts';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { hasCome, noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** Half of what a follower waits that asks again and again, and is never woken. */
const QUICK_MS = 500;
const FEW = 5;
const MOST_RECORDS = 50;
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const signal = () => AbortSignal.timeout(600_000);

/** Follows partition 0; gives the values as they come. */
function follow(cluster: KafkaCluster, topic: string): { seen: string[]; ended: Promise<never> } {
  const seen: string[] = [];
  const onRecord = ({ value }: { value: Buffer | null }) => void seen.push(String(value));
  const ended = cluster.logTail.follow({ topic, partitions: [0], onRecord, signal: signal() });
  ended.catch(() => {});
  return { seen, ended };
}

kafkaTest('a record reaches its follower well within a second of its commit', async (t, kafka) => {
  const cluster = kafka.connect();
  const { name } = await createTopic(cluster);
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(noPosition, signal());
  const { seen } = follow(cluster, name);
  await writer.commit({ records: [textRecord(name, 'joined')] });
  await hasCome(seen, 1);
  const tookMs: number[] = [];
  let isQuick = false;
  while (!isQuick && tookMs.length < MOST_RECORDS) {
    await new Promise((next) => setTimeout(next, 150));
    await writer.commit({ records: [textRecord(name, String(tookMs.length))] });
    const committedMs = performance.now();
    while (seen.length < tookMs.length + 2) await new Promise((next) => setTimeout(next, 1));
    tookMs.push(Math.round(performance.now() - committedMs));
    // Most of a few: a machine that stands still for a moment delays one or two, and a busy one many.
    isQuick = tookMs.length % FEW === 0 && median(tookMs.slice(-FEW)) < QUICK_MS;
  }
  t.diagnostic(`from commit to follower: ${tookMs.join(', ')} ms`);
  assert.ok(isQuick, `${tookMs.join(', ')} ms`);
});

const faults = [
  { fault: 'blackHole', says: 'gets no answers' },
  { fault: 'cutAnswer', says: 'is cut' },
] as const;
for (const { fault, says } of faults) {
  testOnBroker(
    `a follower whose connection ${says} joins again and gives every record once, in order`,
    async (t, raw) => {
      const topic = await raw.createTopic();
      // kafkajs' own time-out is far away: it is ours that notices the silence.
      const tuning = { requestTimeoutMs: 60_000, readStallMs: 1_500, tailBackOff: { initialMs: 20, maximumMs: 100 } };
      const { seen } = follow(openOurCluster(t, { ...raw, tuning }), topic);
      const writer = openOurCluster(t, { brokers: raw.brokers }).transactionalWriter(`${topic}-writer`);
      await writer.open(noPosition, t.signal);
      await writer.commit({ records: [textRecord(topic, 'before 1'), textRecord(topic, 'before 2')] });
      await hasCome(seen, 2);
      const rule = raw.proxy.addRule({ on: 'Fetch', fault });
      await eventually('the fault has struck', rule.hits, (hits) => hits > 0);
      await writer.commit({ records: [textRecord(topic, 'meanwhile')] });
      raw.proxy.clearRules();
      await hasCome(seen, 3);
      await writer.commit({ records: [textRecord(topic, 'after')] });
      await hasCome(seen, 4);
      assert.deepEqual(seen, ['before 1', 'before 2', 'meanwhile', 'after']);
    },
  );
}
