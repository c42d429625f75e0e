import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bounds, FetchedPart, LogClient } from '../../../../src/kafka/kafkajs/kafkajs-log-client.ts';
import { createKafkajsReader } from '../../../../src/kafka/kafkajs/kafkajs-reader.ts';
import { DEFAULT_TUNING } from '../../../../src/kafka/kafkajs/tuning.ts';
import type { CommittedRecord } from '../../../../src/kafka/record.ts';
import { SteppedClock } from '../stepped-clock.ts';

const signal = new AbortController().signal;
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** What one fake connection does; what is left out succeeds, and a fetch beyond its parts is never answered. */
interface ClientScript {
  readonly bounds?: () => Promise<Bounds>;
  /** What each fetch gives, by its number from 1. */
  readonly fetch?: (call: number, from: ReadonlyMap<number, bigint>) => Promise<readonly FetchedPart[]>;
  /** Partition 0 unless given, led by broker 1. */
  readonly leaders?: ReadonlyMap<number, readonly number[]>;
}

/** Connections that write down what is asked of them, one script for each in turn; the last one stands for all later. */
function fakeLogClients(scripts: readonly ClientScript[]) {
  const steps: string[] = [];
  let opened = 0;
  const openClient = (): LogClient => {
    opened += 1;
    const id = opened;
    const script = scripts[Math.min(id, scripts.length) - 1] ?? {};
    let fetches = 0;
    const step = (name: string) => void steps.push(`${id} ${name}`);
    return {
      async connect() {
        step('connect');
      },
      byLeader: (partitions) => script.leaders ?? new Map([[1, partitions]]),
      async bounds(partitions) {
        const bounds = (await script.bounds?.()) ?? { low: 0n, high: 0n };
        return new Map(partitions.map((partition) => [partition, bounds]));
      },
      fetch(_leader, from) {
        fetches += 1;
        step(`fetch ${[...from].map(([partition, offset]) => `${partition}@${offset}`).join()}`);
        return script.fetch?.(fetches, from) ?? new Promise(() => {});
      },
      async close() {
        step('close');
      },
    };
  };
  return { openClient, steps };
}

/** Records of partition 0 with these offsets, and where the next fetch goes on: behind the last one unless given. */
function part(offsets: readonly number[], nextOffset = (offsets.at(-1) ?? -1) + 1): readonly FetchedPart[] {
  return [{ partition: 0, records: offsets.map(recordAt), nextOffset: BigInt(nextOffset) }];
}

function recordAt(offset: number): CommittedRecord {
  const text = Buffer.from(`v${offset}`);
  return { topic: 't', partition: 0, key: null, value: text, headers: {}, offset: BigInt(offset), timestampMs: 12 };
}

/** A reading of partition 0, unless others are named, through connections that do what the scripts say. */
function readingOver(
  scripts: readonly ClientScript[] | ((clock: SteppedClock) => readonly ClientScript[]),
  request: {
    readonly partitions?: readonly number[];
    readonly newest?: number;
    readonly room?: () => Promise<void>;
    readonly toHighWatermark?: boolean;
  } = {},
) {
  const clock = new SteppedClock();
  const { openClient, steps } = fakeLogClients(typeof scripts === 'function' ? scripts(clock) : scripts);
  const reader = createKafkajsReader({ openClient, tuning: DEFAULT_TUNING, clock, random: () => 1, log });
  const seen: number[] = [];
  const onRecord = ({ offset }: { offset: bigint }) => void seen.push(Number(offset));
  const reading = reader.readToEnd({ topic: 't', partitions: [0], onRecord, signal, ...request });
  reading.catch(() => {});
  return { clock, reading, seen, steps };
}

const bounds = (low: number, high: number) => async () => ({ low: BigInt(low), high: BigInt(high) });
const failing = (type: string) => ({
  bounds: () => Promise.reject(Object.assign(new Error('not the leader'), { type })),
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

for (const [type, patienceMs, code] of [
  ['NOT_LEADER_FOR_PARTITION', DEFAULT_TUNING.readStallMs, 'KAFKA_UNREACHABLE'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 6_000, 'TOPIC_DELETED'],
] as const) {
  test(`${type} is waited for; what stays so is an error, not an empty answer`, async () => {
    const passing = readingOver([failing(type), failing(type), { bounds: bounds(0, 0) }]);
    await passing.clock.advance(1_000);
    await passing.reading;
    assert.equal(passing.steps.filter((step) => step.endsWith('connect')).length, 3);
    const staying = readingOver([failing(type)]);
    await staying.clock.advance(patienceMs + 100);
    await assert.rejects(staying.reading, { code });
    assert.equal(passing.clock.sleeping + staying.clock.sleeping, 0);
  });
}

test('a connection that fails after some progress is replaced; deleted offsets are skipped, each record comes once', async () => {
  const broken = async () => Promise.reject(new Error('it broke'));
  const { reading, clock, seen, steps } = readingOver([
    { bounds: bounds(0, 9), fetch: async (call) => (call === 1 ? part([0, 1]) : broken()) },
    { bounds: bounds(0, 9), fetch: async (call) => (call === 1 ? part([2]) : broken()) },
    { bounds: bounds(7, 12), fetch: async () => part([7, 8]) },
  ]);
  await clock.advance(1_000);
  await reading;
  assert.deepEqual(seen, [0, 1, 2, 7, 8]);
  assert.ok(steps.includes('2 fetch 0@2'), steps.join());
});

test('without room nothing is fetched, and the watch does not take that for a failure', async () => {
  const room = Promise.withResolvers<void>();
  const { reading, clock, steps } = readingOver([{ bounds: bounds(0, 2), fetch: async (call) => part([call - 1]) }], {
    room: () => room.promise,
  });
  await clock.advance(DEFAULT_TUNING.readStallMs * 3);
  assert.deepEqual(steps, ['1 connect', '1 fetch 0@0']);
  room.resolve();
  await reading;
  assert.deepEqual(steps.slice(2), ['1 fetch 0@1', '1 close']);
  assert.equal(clock.sleeping, 0);
});

test('a connection that fails at once is an error, and is closed', async () => {
  const broken = readingOver([{ bounds: bounds(0, 3), fetch: () => Promise.reject(new Error('it broke')) }]);
  await broken.clock.advance(10_000);
  await assert.rejects(broken.reading, { code: 'KAFKA_UNREACHABLE', message: /it broke/ });
  assert.equal(broken.steps.at(-1), '2 close');
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
