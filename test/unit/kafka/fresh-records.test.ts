import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FreshRecords } from '../../../src/kafka/fresh-records.ts';

test('a log that is read again gives only what lies behind the last record, partition by partition', () => {
  const fresh = new FreshRecords();
  const read = (partition: number, ...offsets: bigint[]) =>
    offsets.filter((offset) => fresh.isFresh({ partition, offset }));
  assert.deepEqual(read(0, 0n, 1n, 4n), [0n, 1n, 4n]);
  assert.deepEqual(read(1, 0n), [0n]);
  // Compaction has taken offset 1 meanwhile; 3 is not new, though it was never given.
  assert.deepEqual(read(0, 0n, 3n, 4n, 5n, 5n), [5n]);
});
