import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { retryWithWaits, withFetchWaits } from '../../../../../src/kafka/kafkajs/patches/fetch-waits.ts';
import { SteppedClock, settle } from '../../stepped-clock.ts';

/** The batches of kafkajs itself, of which the patch reads a field. */
const Batch = createRequire(import.meta.url)('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  partition: object,
) => { readonly rawMessages: readonly string[] };

interface State {
  readonly members?: readonly string[];
  readonly paused?: readonly number[];
}

const SILENT_NODE = 2;

/** An error for which kafkajs joins again within the fetch. */
class LeaderMoved extends Error {}

/** A group with the partitions 0 and 1, whose fetches end when the test lets them, or never. */
function groupIn({ members = ['me'], paused = [] }: State = {}) {
  const [waited, joins, dropped]: [number[], string[], string[]] = [[], [], []];
  const clock = new SteppedClock();
  /** When, by the clock. */
  const heartbeats: number[] = [];
  const response = { comes: () => Promise.resolve() };
  const leaving = new AbortController();
  const fetched = Promise.withResolvers<readonly { readonly rawMessages: readonly string[] }[]>();
  const recovered = Promise.withResolvers<void>();
  class Original {
    maxWaitTime = 777;
    readonly members = members;
    readonly cluster = {
      brokerPool: {
        brokers: {
          '1': {
            connectionPool: {
              pool: ['others', 'fetches'].map((name) => ({
                socket: { destroy: () => void dropped.push(`${name} destroyed`) },
                rejectRequests: ({ message }: Error) => void dropped.push(`${name}: ${message}`),
              })),
            },
          },
        },
      },
    };
    async heartbeat() {
      heartbeats.push(clock.monotonicMs());
      await response.comes();
    }
    isLeader = () => members[0] === 'me';
    assigned = () => [{ partitions: [0, 1] }];
    paused = () => (paused.length > 0 ? [{ partitions: paused }] : []);
    async fetch(nodeId: number) {
      waited.push(this.maxWaitTime);
      if (nodeId === SILENT_NODE) return new Promise<never>(() => {});
      return fetched.promise.catch(async (error) => {
        await this.recoverFromFetch(error);
        return [];
      });
    }
    async recoverFromFetch(error: unknown) {
      if (!(error instanceof LeaderMoved)) throw error;
      await recovered.promise;
    }
    resume() {}
    async joinAndSync() {
      joins.push('joined');
    }
  }
  const Group = withFetchWaits(Original);
  const longWaits = new Set<AbortController>();
  const waits = {
    aloneMs: 1_000,
    readMs: 5_000,
    togetherMs: 300,
    restingMs: 100,
    shortestMs: 80,
    sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
    leaving: leaving.signal,
    longWaits,
  };
  return {
    Group,
    waits,
    group: new Group({ retry: retryWithWaits({}, waits) }),
    waited,
    joins,
    dropped,
    leaving,
    fetched,
    recovered,
    clock,
    heartbeats,
    response,
  };
}

async function waitOf(state: State): Promise<number | undefined> {
  const { group, waited, fetched } = groupIn(state);
  const batch = { rawMessages: ['record'] };
  fetched.resolve([batch]);
  assert.deepEqual(await group.fetch(1), [batch]);
  return waited[0];
}

test('a member that is alone in its group waits for long; one with others asks the group often', async () => {
  assert.equal(await waitOf({ members: ['me'] }), 5_000);
  assert.equal(await waitOf({ members: ['me', 'other'] }), 300);
  // Only the leader of a group is given its members.
  assert.equal(await waitOf({ members: [] }), 300);
});

test('while some partitions are paused, the wait is short; with all of them paused it is the longest or the shortest', async () => {
  assert.equal(await waitOf({ paused: [1] }), 300);
  assert.equal(await waitOf({ paused: [0, 1] }), 1_000);
  assert.equal(await waitOf({ members: ['me', 'other'], paused: [0, 1] }), 100);
  assert.equal(await waitOf({ members: ['me', 'other'], paused: [1] }), 300);
});

test('a partition that is resumed ends a wait that only passes the time, and none for records', async () => {
  const resting = groupIn({ paused: [0, 1] });
  const passing = resting.group.fetch(1);
  resting.group.resume([]);
  assert.deepEqual(await passing, []);
  assert.deepEqual(resting.dropped, []);

  const reading = groupIn();
  const read = reading.group.fetch(1);
  reading.group.resume([]);
  const batch = { rawMessages: ['record'] };
  reading.fetched.resolve([batch]);
  assert.deepEqual(await read, [batch]);
});

test('partitions without records are left out; one with only markers moves its position, and stays', async () => {
  const { group, fetched } = groupIn();
  const batchOf = (partition: number, messages: readonly object[]) =>
    new Batch('instruments', '7', { partition, highWatermark: '9', abortedTransactions: [], messages });
  const marker = { offset: '7', isControlRecord: true };
  const record = { offset: '8', isControlRecord: false };
  const filled = [batchOf(1, [marker]), batchOf(2, [record]), batchOf(3, [marker, record])];
  fetched.resolve([batchOf(0, []), ...filled, batchOf(4, [])]);
  assert.deepEqual(await group.fetch(1), filled);
});

test('a member that is alone sends its heartbeats while its fetch waits, and none once it is answered', async () => {
  const { group, clock, heartbeats, fetched, waits } = groupIn();
  const fetching = group.fetch(1);
  await clock.advance(4_500);
  assert.deepEqual(heartbeats, [1_000, 2_000, 3_000, 4_000]);
  fetched.resolve([{ rawMessages: ['record'] }]);
  assert.equal((await fetching).length, 1);
  assert.equal(clock.sleeping, 0);
  assert.equal(waits.longWaits.size, 0);
});

test('a heartbeat that fails ends the wait with its error; one without an answer keeps no record back', async () => {
  const failing = groupIn();
  failing.response.comes = () => Promise.reject(new Error('the group is rebalancing'));
  const failed = assert.rejects(failing.group.fetch(1), /is rebalancing/);
  await failing.clock.advance(1_000);
  await failed;
  assert.equal(failing.clock.sleeping, 0);

  const slow = groupIn();
  slow.response.comes = () => new Promise(() => {});
  const fetching = slow.group.fetch(1);
  await slow.clock.advance(1_000);
  slow.fetched.resolve([{ rawMessages: ['record'] }]);
  assert.equal((await fetching).length, 1);
});

test('while a failed fetch joins again, no heartbeat of the generation before is sent', async () => {
  const { group, clock, heartbeats, fetched, recovered } = groupIn();
  const fetching = group.fetch(1);
  await clock.advance(1_500);
  fetched.reject(new LeaderMoved('another broker leads the partition now'));
  await clock.advance(3_000);
  assert.deepEqual(heartbeats, [1_000]);
  recovered.resolve();
  assert.deepEqual(await fetching, []);
});

test('once a failed fetch has joined again, the fetches of the other brokers begin again; its own error stays', async () => {
  const { group, clock, fetched, recovered, dropped } = groupIn();
  const others = group.fetch(SILENT_NODE);
  const failing = group.fetch(1);
  fetched.reject(new LeaderMoved('another broker leads the partition now'));
  await clock.advance(100);
  recovered.resolve();
  assert.deepEqual(await Promise.all([failing, others]), [[], []]);
  assert.deepEqual(dropped, []);
  assert.equal(clock.sleeping, 0);

  const refused = groupIn();
  refused.group.fetch(SILENT_NODE);
  refused.fetched.reject(new Error('the topic may not be read'));
  await assert.rejects(refused.group.fetch(1), /may not be read/);
});

test('behind a fetch that was given up, a member with others shows that it lives too, and an overdue fetch ends that', async () => {
  const together = groupIn({ members: ['me', 'other'] });
  together.group.fetch(1);
  await together.clock.advance(2_000);
  assert.deepEqual(together.heartbeats, [600, 1_200, 1_800]);

  for (const group of [groupIn(), groupIn({ members: ['me', 'other'] })]) {
    group.group.fetch(1);
    await group.clock.advance(60_000);
    assert.ok((group.heartbeats.at(-1) ?? 0) <= 6_000, `${group.heartbeats}`);
    assert.equal(group.clock.sleeping, 0);
  }
});

test('a heartbeat that is wanted comes at once and the fetch goes on; while all rests, the wait is ended for it', async () => {
  const { group, waits, heartbeats, fetched, clock, dropped } = groupIn();
  const fetching = group.fetch(1);
  for (let wanted = 1; wanted <= 20; wanted++) {
    for (const wait of waits.longWaits) wait.abort();
    await settle();
    assert.equal(heartbeats.length, wanted);
  }
  await clock.advance(3_000);
  assert.equal(heartbeats.length, 23);
  fetched.resolve([{ rawMessages: ['record'] }]);
  assert.equal((await fetching).length, 1);
  assert.equal(waits.longWaits.size, 0);

  const resting = groupIn({ paused: [0, 1] });
  const passing = resting.group.fetch(1);
  for (const wait of resting.waits.longWaits) wait.abort();
  assert.deepEqual(await passing, []);
  assert.deepEqual([...dropped, ...resting.dropped], []);
  assert.equal(resting.waits.longWaits.size, 0);

  const together = groupIn({ members: ['me', 'other'] });
  together.group.fetch(1);
  assert.equal(together.waits.longWaits.size, 0);
});

test('a member that leaves ends its fetch with the connection, fetches no more, and never joins again', async () => {
  const { group, leaving, dropped, joins, waited, clock } = groupIn();
  const fetching = group.fetch(1);
  leaving.abort();
  assert.deepEqual(await fetching, []);
  assert.deepEqual(dropped, ['fetches: the fetch is no longer awaited', 'fetches destroyed']);
  assert.deepEqual(await group.fetch(1), []);
  assert.equal(waited.length, 1);
  assert.equal(clock.sleeping, 0);
  await assert.rejects(group.joinAndSync(), /has left/);
  assert.deepEqual(joins, []);
});

test('a fetch that fails, fails; and a group without these waits is as it was', async () => {
  const failing = groupIn();
  failing.fetched.reject(new Error('no broker'));
  await assert.rejects(failing.group.fetch(1), /no broker/);

  const { Group, waited, fetched } = groupIn();
  const plain = new Group({});
  fetched.resolve([]);
  assert.deepEqual(await plain.fetch(1), []);
  await plain.joinAndSync();
  assert.deepEqual(waited, [777]);
});
