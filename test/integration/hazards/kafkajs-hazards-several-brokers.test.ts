import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectOurs } from '../../support/kafka/kafka-real.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { placeTopics, rawAdmin } from '../../support/kafka/placed-topics.ts';
import { proxiedBrokersOrSkip } from '../../support/kafka/proxied-brokers.ts';
import { noPosition, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

const RETRY = { retries: 5, initialRetryTime: 50, maxRetryTime: 200 };
/** Longer than the other broker's failure and the retry after it take. */
const LATE_MS = 1_500;
/** kafkajs asks any broker where the partitions are now; when that is the late one, it waits, and the round is good. */
const ROUNDS = 12;
const PARTITIONS = [0, 1] as const;

/** Three brokers, each behind a proxy; of each topic one partition is on the first and one on the second. */
async function threeBrokers(t: TestContext) {
  const started = await proxiedBrokersOrSkip(t, 3);
  const [first, second, third] = started?.proxies ?? [];
  if (!started || !first || !second || !third) return undefined;
  const { kafka } = started;
  // It leads nothing and is connected all the same.
  const brokers = [third.address];
  const { raw, admin } = await rawAdmin(t, brokers);
  return {
    client: raw,
    brokers,
    createTopic: (topic: string) => placeTopics(admin, [{ topic, replicas: PARTITIONS.map((of) => [of + 1]) }]),
    /** From now on the first broker answers late, and the connection to the second is cut once. */
    disturb() {
      first.addRule({ on: 'Produce', fault: 'delayAnswer', delayMs: LATE_MS });
      second.addRule({ on: 'Produce', fault: 'cutRequest' });
    },
    /** What a reader sees of both partitions, once nothing is open. */
    values: (topic: string) =>
      Promise.all(
        PARTITIONS.map(async (partition) => {
          const view = await eventually(
            'nothing is open',
            () => viewPartition({ broker: kafka.brokers[partition] ?? '', topic, partition }),
            ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark && highWatermark > 0,
          );
          return view.committed.map(({ value }) => value);
        }),
      ),
  };
}

test('H3: of several brokers one is late and one is cut: raw kafkajs doubles a record in a transaction, our writer does not', async (t) => {
  const cluster = await threeBrokers(t);
  if (!cluster) return;
  const producer = cluster.client.producer({ transactionalId: 'raw', maxInFlightRequests: 1, retry: RETRY });
  await producer.connect();
  t.after(() => producer.disconnect());
  const doubled = async (round: number) => {
    const topic = `raw-${round}`;
    await cluster.createTopic(topic);
    const transaction = await producer.transaction();
    cluster.disturb();
    await transaction.send({
      topic,
      messages: PARTITIONS.map((partition) => ({ value: `row ${partition}`, partition })),
    });
    await transaction.commit();
    const values = await cluster.values(topic);
    return values[0]?.join() === 'row 0,row 0';
  };
  let rounds = 1;
  while (!(await doubled(rounds)) && rounds <= ROUNDS) rounds += 1;
  assert.ok(rounds <= ROUNDS, 'all rounds were good: is the hazard gone?');
  t.diagnostic(`doubled in round ${rounds}`);

  const ours = connectOurs(t, { brokers: cluster.brokers, tuning: { disconnectMs: 500 } });
  const writer = ours.transactionalWriter('ours');
  await writer.open(noPosition, t.signal);
  for (let round = 1; round <= Math.max(rounds, 3); round++) {
    const topic = `ours-${round}`;
    await cluster.createTopic(topic);
    cluster.disturb();
    const page = PARTITIONS.map((partition) => textRecord(topic, `row ${partition}`, partition));
    // Both are sent at once; the cut one is not sent again, so nothing of this transaction is ever committed.
    await assert.rejects(writer.commit({ records: page }), { code: 'TRANSACTION_FAILED' });
    await writer.open(noPosition, t.signal);
    await writer.commit({ records: page });
    assert.deepEqual(await cluster.values(topic), [['row 0'], ['row 1']]);
  }
});
