import assert from 'node:assert/strict';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { setTopic } from '../../support/kafka/raw-kafkajs.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

const signal = () => AbortSignal.timeout(600_000);
/** What a clock that is set meanwhile may differ by. */
const MINUTE_MS = 60_000;

function records(topic: string, values: readonly string[], partition = 0): OutgoingRecord[] {
  return values.map((value) => ({ topic, partition, key: Buffer.from('k'), value: Buffer.from(value), headers: {} }));
}

async function valuesOf(cluster: KafkaCluster, topic: string): Promise<string[]> {
  return (await readCommitted(cluster, topic)).map(({ value }) => String(value));
}

kafkaTest('a record larger than the topic takes fails its whole transaction', async (_t, kafka) => {
  const cluster = kafka.connect({ compression: 'none' });
  const { name } = await createTopic(cluster, { 'max.message.bytes': '10000' });
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(async () => {}, signal());
  const page = [...records(name, ['small']), ...records(name, ['x'.repeat(20_000)])];
  await assert.rejects(writer.commit({ records: page }), { message: /MESSAGE_TOO_LARGE/ });
  assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), []);
});

kafkaTest(
  'a limit that is lowered while two writers have batches in flight refuses neither of them',
  async (t, kafka) => {
    const cluster = kafka.connect({ compression: 'none' });
    const { name } = await createTopic(cluster, {}, 2);
    const admin = kafka.plain().admin();
    t.after(() => admin.disconnect());
    await admin.connect();
    const writers = [0, 1].map((partition) => {
      const writer = cluster.transactionalWriter(`${name}-${partition}`);
      const values = Array.from({ length: 10 }, (_, row) => `${row}`.padEnd(3_000, 'x'));
      const commit = () => writer.commit({ records: records(name, values, partition) });
      return { open: () => writer.open(async () => {}, signal()), commit };
    });
    for (const { open, commit } of writers) {
      await open();
      await commit();
    }
    await setTopic(admin, name, 'max.message.bytes', '10000');
    const probe = kafka.connect({ compression: 'none' }).transactionalWriter(`${name}-probe`);
    const isRefused = async (partition: number) => {
      await probe.open(async () => {}, signal());
      return 'error' in (await outcomeOf(probe.commit({ records: records(name, ['x'.repeat(20_000)], partition) })));
    };
    for (const partition of [0, 1]) await eventually('the limit is in force', () => isRefused(partition), Boolean);
    const outcomes = await Promise.allSettled(writers.map(({ commit }) => commit()));
    const codes = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code);
    assert.deepEqual(codes, ['TRANSACTION_FAILED', 'TRANSACTION_FAILED'], 'no batch is refused for good');
    for (const { open, commit } of writers) {
      await open();
      await commit();
    }
  },
);

for (const compression of ['zstd', 'gzip', 'none'] as const) {
  kafkaTest(
    `records written with compression ${compression} are read back, time-stamped by the broker`,
    async (_t, kafka) => {
      const cluster = kafka.connect({ compression });
      const { name } = await createTopic(cluster);
      const writer = cluster.transactionalWriter(`${name}-writer`);
      await writer.open(async () => {}, signal());
      const values = Array.from({ length: 50 }, (_, row) => `row ${row} `.repeat(100));
      const beganMs = Date.now();
      await writer.commit({ records: records(name, values) });
      const seen = await writer.open(() => readCommitted(cluster, name), signal());
      const read = seen.map(({ value }) => String(value));
      assert.deepEqual(read, values);
      const isOfNow = (ms: number) => ms >= beganMs - MINUTE_MS && ms <= Date.now() + MINUTE_MS;
      assert.ok(seen.every(({ timestampMs }) => isOfNow(timestampMs)));
    },
  );
}
