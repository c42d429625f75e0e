import assert from 'node:assert/strict';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { hasCome, openOurCluster, readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

/** What the broker's default group.initial.rebalance.delay.ms adds to every joining of a new group. */
const REBALANCE_DELAY_MS = 3_000;
const OPENINGS = 5;
/** A busy machine has so many attempts at one opening that is quick. */
const MOST_OPENINGS = 25;

// The tests' broker has its default for the delay; that nothing joins a group holds on the slowest machine too.
testOnBroker('a writer opens without joining a group, well within a second where the machine is', async (t, raw) => {
  const joins = raw.proxy.addRule({ on: 'JoinGroup', fault: 'dropAnswer', times: 1_000 });
  const ours = openOurCluster(t, raw);
  const [topic, states] = [await raw.createTopic(), await raw.createTopic()];
  const writer = ours.transactionalWriter(`${topic}-writer`);
  const seen: string[] = [];
  const onRecord = ({ value }: { value: Buffer | null }) => void seen.push(String(value));
  ours.logTail.follow({ topic, partitions: [0], onRecord, signal: t.signal }).catch(() => {});
  const values: string[] = [];
  const tookMs: number[] = [];
  const quickestMs = () => Math.min(...tookMs);
  const isEnough = () => values.length >= (quickestMs() < REBALANCE_DELAY_MS ? OPENINGS : MOST_OPENINGS);
  for (let opening = 0; !isEnough(); opening++) {
    const beganMs = performance.now();
    const read = () => Promise.all([readValues(ours, topic), readValues(ours, states)]);
    assert.deepEqual(await writer.open(read, t.signal), [values, []]);
    tookMs.push(Math.round(performance.now() - beganMs));
    values.push(`value ${opening}`);
    await writer.commit({ records: [textRecord(topic, `value ${opening}`)] });
  }
  await hasCome(seen, values.length);
  assert.deepEqual([seen, joins.hits()], [values, 0]);
  t.diagnostic(`openings: ${tookMs.join(', ')} ms`);
  assert.ok(quickestMs() < REBALANCE_DELAY_MS, `${tookMs.join(', ')} ms`);
});
