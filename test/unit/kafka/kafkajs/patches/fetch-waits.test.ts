import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { retryWithWaits, withFetchWaits } from '../../../../../src/kafka/kafkajs/patches/fetch-waits.ts';

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

/** A group with the partitions 0 and 1, whose fetches end when the test lets them, or never. */
function groupIn({ members = ['me'], paused = [] }: State = {}) {
  const [waited, joins, dropped]: [number[], string[], string[]] = [[], [], []];
  const leaving = new AbortController();
  const fetched = Promise.withResolvers<readonly { readonly rawMessages: readonly string[] }[]>();
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
    isLeader = () => members[0] === 'me';
    assigned = () => [{ partitions: [0, 1] }];
    paused = () => (paused.length > 0 ? [{ partitions: paused }] : []);
    async fetch() {
      waited.push(this.maxWaitTime);
      return fetched.promise;
    }
    resume() {}
    async joinAndSync() {
      joins.push('joined');
    }
  }
  const Group = withFetchWaits(Original);
  const longWaits = new Set<AbortController>();
  const waits = { aloneMs: 1_000, togetherMs: 300, restingMs: 100, leaving: leaving.signal, longWaits };
  return {
    Group,
    waits,
    group: new Group({ retry: retryWithWaits({}, waits) }),
    waited,
    joins,
    dropped,
    leaving,
    fetched,
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
  assert.equal(await waitOf({ members: ['me'] }), 1_000);
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

test('a long wait is ended when a heartbeat is wanted, with its connection kept; a short one goes on', async () => {
  const { group, waits, dropped } = groupIn();
  const fetching = group.fetch(1);
  for (const wait of waits.longWaits) wait.abort();
  assert.deepEqual(await fetching, []);
  assert.deepEqual(dropped, []);
  assert.equal(waits.longWaits.size, 0);

  const together = groupIn({ members: ['me', 'other'] });
  together.group.fetch(1);
  assert.equal(together.waits.longWaits.size, 0);
});

test('a member that leaves ends its fetch with the connection, fetches no more, and never joins again', async () => {
  const { group, leaving, dropped, joins, waited } = groupIn();
  const fetching = group.fetch(1);
  leaving.abort();
  assert.deepEqual(await fetching, []);
  assert.deepEqual(dropped, ['fetches: the fetch is no longer awaited', 'fetches destroyed']);
  assert.deepEqual(await group.fetch(1), []);
  assert.equal(waited.length, 1);
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
