import assert from 'node:assert/strict';
import { systemClock } from '../../../src/support/clock.ts';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';

const signal = () => AbortSignal.timeout(600_000);
kafkaTest('a partition that takes several fetches is read to its very end', async (_t, kafka) => {
  const cluster = kafka.connect({ compression: 'none' });
  const { name } = await createTopic(cluster);
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(async () => {}, signal());
  const rows = Array.from({ length: 900 }, (_, row) => Buffer.from(`${row}:`.padEnd(10_000, 'x')));
  await writer.commit({ records: rows.map((value) => ({ topic: name, partition: 0, key: null, value, headers: {} })) });
  const seen = await writer.open(() => readCommitted(cluster, name), signal());
  const numbers = seen.map(({ value }) => String(value).split(':', 1)[0]);
  const expected = rows.map((_, row) => String(row));
  assert.deepEqual(numbers, expected);
});

kafkaTest('what the broker appended before a moment is passed over', async (t, kafka) => {
  const cluster = kafka.connect();
  const { name } = await createTopic(cluster, {}, 2);
  const writer = cluster.transactionalWriter(name);
  await writer.open(async () => {}, t.signal);
  const write = async (value: string, partition = 0) => {
    const key = Buffer.from(value);
    await writer.commit({ records: [{ topic: name, partition, key, value: key, headers: {} }] });
    await systemClock.sleep(5);
  };
  for (const value of ['old 1', 'old 2', 'old 3']) await write(value);
  await write('old 4', 1);
  const old = await readCommitted(cluster, name, [0, 1], { toHighWatermark: true });
  const sinceMs = Math.max(...old.map(({ timestampMs }) => timestampMs)) + 1;
  const read = async (from: number) => {
    const seen: string[] = [];
    const onRecord = ({ value }: { value: Buffer | null }) => void seen.push(String(value));
    await cluster.logReader.readToEnd({ topic: name, partitions: [0, 1], sinceMs: from, onRecord, signal: signal() });
    return seen.sort();
  };
  assert.deepEqual(await read(sinceMs), []);
  await write('new 1');
  await write('new 2');
  await readCommitted(cluster, name, [0], { toHighWatermark: true });
  assert.deepEqual(await read(sinceMs), ['new 1', 'new 2']);
  assert.deepEqual(await read(0), ['new 1', 'new 2', 'old 1', 'old 2', 'old 3', 'old 4']);
  assert.deepEqual(await read(sinceMs + 3_600_000), []);
});
