import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { IdTable } from '../../../../src/sources/walk/census.ts';

interface Row {
  digest: bigint;
  marks: number;
  age: number;
}

/** Ids that meet in slots and parts, and the ends of int64. */
const ids = fc.oneof(
  fc.bigInt({ min: 0n, max: 40n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, 2n ** 53n + 1n),
);
const commands = fc.array(
  fc.record({
    what: fc.constantFrom('put', 'put', 'put', 'remove'),
    id: ids,
    digest: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    marks: fc.nat(63),
    age: fc.nat(65_535),
  }),
  { maxLength: 400 },
);

test('whatever is put in and taken out, it holds what a Map would', () => {
  fc.assert(
    fc.property(commands, (given) => {
      const table = new IdTable();
      const model = new Map<bigint, Row>();
      for (const { what, id, digest, marks, age } of given) {
        if (what === 'remove') {
          table.remove(id);
          model.delete(id);
          continue;
        }
        const place = table.add(id);
        if (!model.has(id)) assert.deepEqual(rowAt(table, place), { digest: 0n, marks: 0, age: 0 });
        table.setDigest(place, digest);
        table.setMarks(place, marks);
        table.setAge(place, age);
        model.set(id, { digest, marks, age });
      }
      assert.equal(table.size, model.size);
      const found = [...table.entries()].map(([id, place]) => [id, rowAt(table, place)] as const);
      assert.deepEqual(new Map(found), model);
      assert.equal(found.length, model.size);
      for (const { id } of given) assert.equal(table.find(id) !== undefined, model.has(id));
    }),
  );
});

test('many ids stay found while the table grows, also when most are taken out again', () => {
  const table = new IdTable();
  const idOf = (index: number) => 1_000_000n + BigInt(index) * 7n;
  for (let index = 0; index < 100_000; index++) {
    table.setDigest(table.add(idOf(index)), BigInt(index));
    if (index % 10 > 0) table.remove(idOf(index - 1));
  }
  assert.equal(table.size, 10_000);
  for (let index = 0; index < 100_000; index++) {
    const place = table.find(idOf(index));
    assert.equal(place === undefined ? -1 : Number(table.digestAt(place)), index % 10 === 9 ? index : -1);
  }
});

test('an instrument takes at most 28 bytes, its id included, and growing takes no second table', () => {
  const table = new IdTable();
  const INSTRUMENTS = 300_000;
  const bytes = () => process.memoryUsage().arrayBuffers;
  const before = bytes();
  let peak = 0;
  for (let index = 0; index < INSTRUMENTS; index++) {
    table.add(BigInt(index) * 7n + 1_000_000n);
    if (index % 1_000 === 0) peak = Math.max(peak, bytes() - before);
  }
  peak = Math.max(peak, bytes() - before);
  assert.ok(peak / INSTRUMENTS <= 28, `${Math.round(peak / INSTRUMENTS)} bytes at the peak`);
});

function rowAt(table: IdTable, place: number): Row {
  return { digest: table.digestAt(place), marks: table.marksAt(place), age: table.ageAt(place) };
}
