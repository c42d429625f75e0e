import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DueQueue } from '../../../../src/prices/core/due-queue.ts';

test('whatever is put in, moved and taken out, the earliest comes first and nothing is lost', () => {
  const commands = fc.array(
    fc.record({
      what: fc.constantFrom('put', 'put', 'put', 'remove', 'take'),
      row: fc.nat(40),
      dueMs: fc.oneof(fc.nat(10), fc.double({ min: 0, max: 10, noNaN: true })),
    }),
    { maxLength: 300 },
  );
  fc.assert(
    fc.property(commands, (given) => {
      const queue = new DueQueue();
      const model = new Map<number, number>();
      const firstMs = () => Math.min(Number.POSITIVE_INFINITY, ...model.values());
      const take = () => {
        const row = queue.take();
        if (model.size === 0) return assert.equal(row, -1);
        assert.equal(model.get(row), firstMs());
        model.delete(row);
      };
      for (const { what, row, dueMs } of given) {
        if (what === 'put') queue.put(row, dueMs);
        if (what === 'put') model.set(row, dueMs);
        if (what === 'remove') queue.remove(row);
        if (what === 'remove') model.delete(row);
        if (what === 'take') take();
        assert.equal(queue.firstMs, firstMs());
        assert.equal(queue.has(row), model.has(row));
      }
      while (model.size > 0) take();
      assert.equal(queue.take(), -1);
    }),
  );
});
