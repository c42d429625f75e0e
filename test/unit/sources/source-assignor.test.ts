import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignPartitions, describeReplica, type Replica, readReplica } from '../../../src/sources/source-assignor.ts';

/** Sources are named after their partitions: `3` and `3b` live on partition 3. */
const partitionOf = (source: string) => Number.parseInt(source, 10);
const replica = (id: string, sources: readonly string[], held: readonly number[] = []): Replica => {
  return { id, sources, held };
};
const share = (...replicas: Replica[]) => Object.fromEntries(assignPartitions(replicas, partitionOf));

test('only partitions that carry a source are given, each to one replica', () => {
  assert.deepEqual(share(replica('a', ['3', '7', '3b'])), { a: [3, 7] });
  assert.deepEqual(share(replica('a', ['3', '7']), replica('b', ['3', '7'])), { a: [3], b: [7] });
  assert.deepEqual(share(replica('a', [])), { a: [] });
});

test('a single source stays where it is, whichever replica joins', () => {
  const known = ['3'];
  assert.deepEqual(share(replica('b', known, [3]), replica('a', known), replica('c', known)), { a: [], b: [3], c: [] });
});

test('what is held stays while the counts differ by at most one', () => {
  const known = ['1', '2', '3'];
  assert.deepEqual(share(replica('a', known, [3]), replica('b', known, [1, 2])), { a: [3], b: [1, 2] });
  assert.deepEqual(share(replica('a', known, [1, 2, 3]), replica('b', known)), { a: [2, 3], b: [1] });
});

test('what nobody holds goes to the replica that has least', () => {
  const known = ['1', '2', '3', '4'];
  assert.deepEqual(share(replica('a', known, [1, 2]), replica('b', known)), { a: [1, 2], b: [3, 4] });
});

test('a partition goes to a replica that knows most of its sources, held or not', () => {
  const old = replica('a', ['3'], [3]);
  assert.deepEqual(share(old, replica('b', ['3', '3b'])), { a: [], b: [3] });
  assert.deepEqual(share(old, replica('b', ['4'])), { a: [3], b: [4] });
  assert.deepEqual(share(replica('a', ['1', '2', '3']), replica('b', [])), { a: [1, 2, 3], b: [] });
});

test('of two replicas that both say they hold a partition, one has it', () => {
  const known = ['1'];
  assert.deepEqual(share(replica('b', known, [1]), replica('a', known, [1])), { a: [1], b: [] });
});

test('assigning again changes nothing', () => {
  const known = Array.from({ length: 7 }, (_, partition) => String(partition));
  const ids = ['c', 'a', 'b'];
  const first = share(...ids.map((id) => replica(id, known)));
  assert.deepEqual(share(...ids.map((id) => replica(id, known, first[id]))), first);
  const sizes = Object.values(first).map(({ length }) => length);
  assert.deepEqual(sizes.sort(), [2, 2, 3]);
});

test('a description comes back as it was given, and one of another program knows nothing', () => {
  const reported = { sources: ['["a",{"endpoint":"instruments"}]'], held: [3] };
  assert.deepEqual(readReplica({ id: 'a', description: describeReplica(reported) }), { id: 'a', ...reported });
  for (const description of ['', 'null', '[]', '{"sources":1,"held":["x"]}', '\u0000']) {
    assert.deepEqual(readReplica({ id: 'a', description }), { id: 'a', sources: [], held: [] });
  }
});
