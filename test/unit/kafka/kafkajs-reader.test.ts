import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kafka } from 'kafkajs';
import { loadKafkajs } from '../../../src/kafka/kafkajs-patches.ts';
import { createKafkajsReader } from '../../../src/kafka/kafkajs-reader.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/tuning.ts';
import { SteppedClock } from './stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const signal = new AbortController().signal;

interface Batch {
  readonly partition: number;
  readonly lastOffset: string;
  readonly messages: readonly { offset: string; key: Buffer; value: Buffer; headers: object; timestamp: string }[];
}

const message = (offset: number) => {
  const value = Buffer.from(`v${offset}`);
  const headers = { one: Buffer.from('1'), many: ['a', 'b'], none: undefined };
  return { offset: String(offset), key: Buffer.from('k'), value, headers, timestamp: '12' };
};

/** A reader over a fake kafkajs: what the broker says the ends are, then what its consumer does when it runs. */
function readerOver(options: {
  readonly ends: () => Promise<{ partition: number; low: string; high: string }[]>;
  readonly run?: (batch: (batch: Batch) => Promise<void>, crash: (error: Error) => void) => Promise<void>;
  readonly room?: () => Promise<void>;
}) {
  const clock = new SteppedClock();
  const calls: string[] = [];
  const call = (name: string) => async () => void calls.push(name);
  const listeners: Record<string, (event: object) => void> = {};
  const admin = () => ({
    connect: call('admin connect'),
    disconnect: call('admin disconnect'),
    fetchTopicOffsets: options.ends,
    deleteGroups: call('delete group'),
  });
  const consumer = () => ({
    events: { CRASH: 'crash', END_BATCH_PROCESS: 'end' },
    on: (name: string, listener: (event: object) => void) => Object.assign(listeners, { [name]: listener }),
    connect: call('connect'),
    subscribe: call('subscribe'),
    stop: call('stop'),
    disconnect: call('disconnect'),
    async run({ eachBatch }: { eachBatch: (payload: object) => Promise<void> }) {
      const deliver = async (batch: Batch) => {
        await eachBatch({ batch, heartbeat: call('heartbeat') });
        listeners.end?.({ payload: batch });
      };
      await options.run?.(deliver, (error) => listeners.crash?.({ payload: { error } }));
    },
  });
  const kafka = { admin, consumer } as unknown as Kafka;
  const parts = { kafkajs: loadKafkajs(), kafka, clientId: 'c', tuning: DEFAULT_TUNING, clock, log: silent };
  const reader = createKafkajsReader(parts);
  const seen: string[] = [];
  const reading = reader.readToEnd({
    topic: 't',
    partitions: [0],
    onRecord: ({ offset, value, headers }) => seen.push(`${offset} ${value} ${JSON.stringify(headers)}`),
    ...(options.room && { room: options.room }),
    signal,
  });
  reading.catch(() => {});
  return { clock, reading, reader, seen, calls };
}

const ends = (low: number, high: number) => async () => [{ partition: 0, low: String(low), high: String(high) }];

test('a partition whose lowest offset is its end is empty, without any consumer', async () => {
  const { reading, seen, calls } = readerOver({ ends: ends(5, 5) });
  await reading;
  assert.deepEqual([seen, calls], [[], ['admin connect', 'admin disconnect']]);
});

test('a leader that moves is waited for', async () => {
  const moving = Object.assign(new Error('not the leader'), { type: 'NOT_LEADER_FOR_PARTITION' });
  let asked = 0;
  const { reading, clock } = readerOver({ ends: async () => (++asked < 3 ? Promise.reject(moving) : ends(0, 0)()) });
  await clock.advance(1_000);
  await reading;
  assert.equal(asked, 3);
  assert.equal(clock.sleeping, 0);
});

test('a leader that never comes is an error at the deadline, not an empty answer', async () => {
  const moving = Object.assign(new Error('not the leader'), { type: 'LEADER_NOT_AVAILABLE' });
  const { reading, clock } = readerOver({ ends: () => Promise.reject(moving) });
  await clock.advance(DEFAULT_TUNING.readStallMs + 100);
  await assert.rejects(reading, { code: 'KAFKA_UNREACHABLE' });
});

test('reading ends only when the end was passed, also by a batch without visible records', async () => {
  const half = Promise.withResolvers<void>();
  const { reading, seen, clock } = readerOver({
    ends: ends(0, 10),
    run: async (batch) => {
      await batch({ partition: 0, lastOffset: '3', messages: [message(1), message(3)] });
      await half.promise;
      await batch({ partition: 0, lastOffset: '9', messages: [] });
    },
  });
  await clock.advance(0);
  assert.equal(await Promise.race([reading, clock.advance(0).then(() => 'still reading')]), 'still reading');
  half.resolve();
  await reading;
  const headers = '{"one":"1","many":"b","none":""}';
  assert.deepEqual(seen, [`1 v1 ${headers}`, `3 v3 ${headers}`]);
});

test('records that come again after the group was joined anew are given once', async () => {
  const { reading, seen } = readerOver({
    ends: ends(0, 3),
    run: async (batch) => {
      await batch({ partition: 0, lastOffset: '1', messages: [message(0), message(1)] });
      await batch({ partition: 0, lastOffset: '2', messages: [message(0), message(1), message(2)] });
    },
  });
  await reading;
  assert.deepEqual(
    seen.map((line) => line.split(' ', 1)[0]),
    ['0', '1', '2'],
  );
});

test('what has no room yet is not fetched, and neither the group nor the watch takes that for a failure', async () => {
  const room = Promise.withResolvers<void>();
  let delivered = 0;
  const { reading, reader, clock, calls } = readerOver({
    ends: ends(0, 2),
    room: () => room.promise,
    async run(batch) {
      for (const offset of [0, 1]) {
        delivered += 1;
        await batch({ partition: 0, lastOffset: String(offset), messages: [message(offset)] });
      }
    },
  });
  await clock.advance(0);
  await clock.advance(DEFAULT_TUNING.readStallMs * 3);
  assert.equal(delivered, 1);
  assert.ok(calls.includes('heartbeat'));
  room.resolve();
  await reading;
  await reader.close();
  assert.deepEqual([delivered, clock.sleeping], [2, 0]);
});

test('a consumer that crashes, or from which nothing comes, is an error; its group is removed', async () => {
  const crashed = readerOver({ ends: ends(0, 3), run: async (_batch, crash) => crash(new Error('it broke')) });
  await assert.rejects(crashed.reading, { code: 'KAFKA_UNREACHABLE', message: /it broke/ });
  await crashed.reader.close();
  assert.deepEqual(crashed.calls.slice(-4), ['disconnect', 'admin connect', 'delete group', 'admin disconnect']);

  const silentBroker = readerOver({ ends: ends(0, 3) });
  await silentBroker.clock.advance(DEFAULT_TUNING.readStallMs);
  await assert.rejects(silentBroker.reading, /nothing came for 30000 ms/);
});

test('closing ends a reading under way as an error, and waits until its group is removed', async () => {
  const { reading, reader, clock, calls } = readerOver({ ends: ends(0, 3) });
  await clock.advance(0);
  await reader.close();
  assert.deepEqual(calls.slice(-4), ['disconnect', 'admin connect', 'delete group', 'admin disconnect']);
  await assert.rejects(reading, { code: 'KAFKA_UNREACHABLE', message: /was closed/ });
});
