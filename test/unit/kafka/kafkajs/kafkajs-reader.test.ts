import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKafkajsReader } from '../../../../src/kafka/kafkajs/kafkajs-reader.ts';
import { DEFAULT_TUNING, longestOpenMs } from '../../../../src/kafka/kafkajs/tuning.ts';
import { type ClientScript, fakeLogClients, part } from '../fake-log-client.ts';
import { SteppedClock } from '../stepped-clock.ts';

const signal = new AbortController().signal;

/** A reading of partition 0, unless others are named, through connections that do what the scripts say. */
function readingOver(
  scripts: readonly ClientScript[],
  request: {
    readonly partitions?: readonly number[];
    readonly newest?: number;
    readonly room?: () => Promise<void>;
    readonly behindOpen?: boolean;
  } = {},
) {
  const clock = new SteppedClock();
  const { openClient, steps } = fakeLogClients(scripts);
  const reader = createKafkajsReader({ openClient, tuning: DEFAULT_TUNING, clock });
  const seen: number[] = [];
  const onRecord = ({ offset }: { offset: bigint }) => void seen.push(Number(offset));
  const reading = reader.readToEnd({ topic: 't', partitions: [0], onRecord, signal, ...request });
  reading.catch(() => {});
  return { clock, reading, reader, seen, steps };
}

const bounds = (low: number, high: number) => async () => ({ low: BigInt(low), high: BigInt(high) });
const leaderless = (type: string) => Object.assign(new Error('not the leader'), { type });

test('a partition whose lowest offset is its end is empty, and nothing is fetched', async () => {
  const { reading, seen, steps } = readingOver([{ bounds: bounds(5, 5) }]);
  await reading;
  assert.deepEqual([seen, steps], [[], ['1 connect', '1 close']]);
});

test('of a long partition the newest offsets are read, and of a short one all', async () => {
  const read = async (low: number, high: number) => {
    const fetch = async (_: number, from: ReadonlyMap<number, bigint>) => part([Number(from.get(0)), high - 1]);
    const { reading, steps } = readingOver([{ bounds: bounds(low, high), fetch }], { newest: 10 });
    await reading;
    return steps.filter((step) => step.includes('fetch'));
  };
  assert.deepEqual(await read(0, 100), ['1 fetch 0@90']);
  assert.deepEqual(await read(95, 100), ['1 fetch 0@95']);
});

test('a position behind an open transaction is waited for, and one that does not end is an error', async () => {
  const open = { bounds: bounds(0, 3), fetch: async (call: number) => (call < 3 ? part([], 1) : part([1, 2])) };
  const { reading, seen } = readingOver([open], { behindOpen: true });
  await reading;
  assert.deepEqual(seen, [1, 2]);
  const clock = new SteppedClock();
  const fetch = () => clock.sleep(1_000).then(() => part([], 1));
  const { openClient } = fakeLogClients([{ bounds: bounds(0, 3), fetch }]);
  const reader = createKafkajsReader({ openClient, tuning: DEFAULT_TUNING, clock });
  const hangs = reader.readToEnd({ topic: 't', partitions: [0], behindOpen: true, onRecord() {}, signal });
  const refused = assert.rejects(hangs, {
    code: 'TRANSACTION_HANGS',
    message: /t, partition 0.*kafka-transactions\.sh/,
  });
  await clock.advance(longestOpenMs(DEFAULT_TUNING) + 5_000);
  await refused;
  assert.equal(clock.sleeping, 0);
});

test('a leader that moves is waited for', async () => {
  const moving = { bounds: () => Promise.reject(leaderless('NOT_LEADER_FOR_PARTITION')) };
  const { reading, clock, steps } = readingOver([moving, moving, { bounds: bounds(0, 0) }]);
  await clock.advance(1_000);
  await reading;
  assert.equal(steps.filter((step) => step.endsWith('connect')).length, 3);
  assert.equal(clock.sleeping, 0);
});

test('a leader that never comes is an error at the deadline, not an empty answer', async () => {
  const { reading, clock } = readingOver([{ bounds: () => Promise.reject(leaderless('LEADER_NOT_AVAILABLE')) }]);
  await clock.advance(DEFAULT_TUNING.readStallMs + 100);
  await assert.rejects(reading, { code: 'KAFKA_UNREACHABLE' });
});

test('a topic that is not known yet is waited for, and one that stays unknown is an error within seconds', async () => {
  const unknown = { bounds: () => Promise.reject(leaderless('UNKNOWN_TOPIC_OR_PARTITION')) };
  const created = readingOver([unknown, unknown, { bounds: bounds(0, 0) }]);
  await created.clock.advance(1_000);
  await created.reading;
  const missing = readingOver([unknown]);
  await missing.clock.advance(6_000);
  await assert.rejects(missing.reading, { code: 'KAFKA_UNREACHABLE', message: /not the leader/ });
});

test('reading ends only when the end was passed, also by a fetch without visible records', async () => {
  const half = Promise.withResolvers<void>();
  const { reading, seen, clock } = readingOver([
    {
      bounds: bounds(0, 10),
      async fetch(call) {
        if (call === 1) return part([1, 3]);
        await half.promise;
        return part([], 10);
      },
    },
  ]);
  await clock.advance(0);
  assert.equal(await Promise.race([reading, clock.advance(0).then(() => 'still reading')]), 'still reading');
  half.resolve();
  await reading;
  assert.deepEqual(seen, [1, 3]);
});

test('fetches without anything do not end a reading', async () => {
  const { reading, seen } = readingOver([
    { bounds: bounds(0, 2), fetch: async (call) => (call < 4 ? part([], 0) : part([0, 1])) },
  ]);
  await reading;
  assert.deepEqual(seen, [0, 1]);
});

test('a connection that fails after it has brought something is replaced, and each record is given once', async () => {
  const broken = async () => Promise.reject(new Error('it broke'));
  const { reading, clock, seen, steps } = readingOver([
    { bounds: bounds(0, 3), fetch: async (call) => (call === 1 ? part([0, 1]) : broken()) },
    { bounds: bounds(0, 9), fetch: async () => part([2, 3]) },
  ]);
  await clock.advance(1_000);
  await reading;
  assert.deepEqual(seen, [0, 1, 2, 3]);
  assert.ok(steps.includes('2 fetch 0@2'), steps.join());
});

test('what was deleted while a connection was replaced is passed over', async () => {
  const { reading, clock, seen } = readingOver([
    { bounds: bounds(0, 9), fetch: async (call) => (call === 1 ? part([0]) : Promise.reject(new Error('gone'))) },
    { bounds: bounds(7, 9), fetch: async () => part([7, 8]) },
  ]);
  await clock.advance(1_000);
  await reading;
  assert.deepEqual(seen, [0, 7, 8]);
});

test('what has no room yet is not fetched, and the watch does not take that for a failure', async () => {
  const room = Promise.withResolvers<void>();
  const { reading, reader, clock, steps } = readingOver(
    [{ bounds: bounds(0, 2), fetch: async (call) => part([call - 1]) }],
    { room: () => room.promise },
  );
  await clock.advance(0);
  await clock.advance(DEFAULT_TUNING.readStallMs * 3);
  assert.deepEqual(steps, ['1 connect', '1 fetch 0@0']);
  room.resolve();
  await reading;
  await reader.close();
  assert.deepEqual(steps.slice(2), ['1 fetch 0@1', '1 close']);
  assert.equal(clock.sleeping, 0);
});

test('a connection that fails at once, or from which nothing comes, is an error, and is closed', async () => {
  const broken = readingOver([{ bounds: bounds(0, 3), fetch: () => Promise.reject(new Error('it broke')) }]);
  await broken.clock.advance(10_000);
  await assert.rejects(broken.reading, { code: 'KAFKA_UNREACHABLE', message: /it broke/ });
  assert.equal(broken.steps.filter((step) => step.endsWith('connect')).length, 2);
  assert.equal(broken.steps.at(-1), '2 close');

  const silentBroker = readingOver([{ bounds: bounds(0, 3) }]);
  await silentBroker.clock.advance(DEFAULT_TUNING.readStallMs);
  await assert.rejects(silentBroker.reading, /nothing came for 30000 ms/);
});

test('a leader that does not answer keeps nothing back of another one, and fails the reading', async () => {
  const leaders = new Map([
    [1, [0]],
    [2, [1]],
  ]);
  const fetch: ClientScript['fetch'] = async (_call, from) =>
    from.has(0) ? part([0, 1]) : new Promise<never>(() => {});
  const { reading, clock, seen } = readingOver([{ bounds: bounds(0, 2), leaders, fetch }], { partitions: [0, 1] });
  await clock.advance(DEFAULT_TUNING.readStallMs);
  await assert.rejects(reading, /nothing came for 30000 ms/);
  assert.deepEqual(seen, [0, 1]);
});

test('closing ends a reading under way as an error, and waits until its connection is closed', async () => {
  const { reading, reader, clock, steps } = readingOver([{ bounds: bounds(0, 3) }]);
  await clock.advance(0);
  await reader.close();
  assert.equal(steps.at(-1), '1 close');
  await assert.rejects(reading, { code: 'KAFKA_UNREACHABLE', message: /was closed/ });
});
