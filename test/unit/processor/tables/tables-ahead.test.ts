import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstrumentKeys } from '../../../../src/processor/core/instrument-keys.ts';
import type { PartitionTable } from '../../../../src/processor/read-table.ts';
import { TablesAhead } from '../../../../src/processor/tables-ahead.ts';
import { UnreadableRecords } from '../../../../src/processor/unreadable-records.ts';
import { SteppedClock, settle } from '../../kafka/stepped-clock.ts';

const PARTITIONS = [0, 1, 2, 3, 4].map((partition) => ({ topic: 'instruments', partition }));
const table = (): PartitionTable => {
  return { instruments: new InstrumentKeys(), again: [], unreadable: new UnreadableRecords() };
};

/** Tables whose reading ends when the test says so. */
function ahead(offsetOf: (partition: number) => bigint | null = (partition) => BigInt(partition + 10)) {
  const clock = new SteppedClock();
  const begun: number[] = [];
  const reads = PARTITIONS.map(() => Promise.withResolvers<PartitionTable>());
  const tables = new TablesAhead({
    partitions: PARTITIONS,
    committedOffset: async ({ partition }) => offsetOf(partition),
    read({ partition }, offset) {
      assert.equal(offset, offsetOf(partition));
      begun.push(partition);
      return reads[partition]?.promise ?? assert.fail();
    },
    clock,
    signal: new AbortController().signal,
  });
  tables.joins();
  const take = (partition: number, offset = BigInt(partition + 10)) =>
    tables.take({ topic: 'instruments', partition }, offset);
  return { clock, begun, reads, tables, take };
}

test('a join that is answered in time reads no table ahead', async () => {
  const { clock, begun, tables, take } = ahead();
  await clock.advance(1_999);
  tables.joined();
  await clock.advance(600_000);
  assert.deepEqual(begun, []);
  assert.equal(await take(0), null);
});

test('a join that waits for a dead member reads tables ahead, two at a time, and none once it is answered', async () => {
  const { clock, begun, reads, tables, take } = ahead();
  await clock.advance(1_000);
  // Another attempt to join.
  tables.joins();
  await clock.advance(1_000);
  await settle();
  assert.deepEqual(begun, [0, 1]);
  const first = table();
  reads[0]?.resolve(first);
  await settle();
  assert.deepEqual(begun, [0, 1, 2]);
  tables.joined();
  // What is being read is waited for.
  const second = table();
  const taken = take(1);
  reads[1]?.resolve(second);
  reads[2]?.resolve(table());
  await settle();
  assert.deepEqual(begun, [0, 1, 2]);
  assert.equal(await taken, second);
  assert.equal(await take(0), first);
  assert.equal(await take(0), null, 'once: a later session must see what was written since');
  assert.equal(await take(3), null);
});

test('a table up to another offset than the committed one is not used', async () => {
  const { clock, reads, take } = ahead();
  await clock.advance(2_000);
  await settle();
  for (const { resolve } of reads) resolve(table());
  await settle();
  assert.equal(await take(0, 11n), null);
  assert.notEqual(await take(1), null);
});

test('what cannot be read ahead, and what has no offset, is left to its owner', async () => {
  const { clock, begun, reads, take } = ahead((partition) => (partition === 1 ? null : BigInt(partition + 10)));
  await clock.advance(2_000);
  await settle();
  reads[0]?.reject(new Error('the broker has gone'));
  for (const { resolve } of reads) resolve(table());
  await settle();
  assert.deepEqual(begun, [0, 2, 3, 4]);
  assert.equal(await take(0), null);
  assert.equal(await take(1), null);
  assert.notEqual(await take(4), null);
});

test('tables of partitions that went to others are dropped a minute after the join', async () => {
  const { clock, reads, tables, take } = ahead();
  await clock.advance(2_000);
  for (const { resolve } of reads) resolve(table());
  await settle();
  tables.joined();
  await clock.advance(59_999);
  assert.notEqual(await take(3), null);
  await clock.advance(1);
  await settle();
  assert.equal(await take(4), null);
});
