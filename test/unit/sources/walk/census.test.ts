import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Census } from '../../../../src/sources/walk/census.ts';

// Few ids, so that they meet often; some differ in their high word alone.
const ids = fc.constantFrom(-1n, 0n, 1n, 2n, 3n, 2n ** 32n, 2n ** 33n + 1n, 2n ** 63n - 1n, -(2n ** 63n));
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('put'), id: ids, digest: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }),
    fc.record({ kind: fc.constantFrom('delete', 'see'), id: ids, digest: fc.constant(0n) }),
  ),
  { maxLength: 100 },
);

test('whatever is put in, seen and taken out, the census holds what a Map would', () => {
  const property = fc.property(steps, (taken) => {
    const census = new Census();
    const expected = new Map<bigint, { digest: bigint; isSeen: boolean }>();
    for (const { kind, id, digest } of taken) {
      const known = expected.get(id);
      if (kind === 'put') {
        census.put(id, digest, true);
        expected.set(id, { digest, isSeen: known?.isSeen ?? false });
      } else if (kind === 'delete') {
        census.delete(id);
        expected.delete(id);
      } else {
        census.see(id);
        if (known !== undefined) known.isSeen = true;
      }
    }
    assert.equal(census.size, expected.size);
    for (const [id, { digest, isSeen }] of expected) {
      assert.deepEqual([census.compare(id, digest), census.isSeen(id)], ['same', isSeen]);
    }
    const unseen = [...expected].filter(([, { isSeen }]) => !isSeen).map(([id]) => id);
    assert.deepEqual(new Set(census.unseen()), new Set(unseen));
  });
  fc.assert(property, { numRuns: 300 });
});

test('many ids stay found while the census grows, also when most are taken out again', () => {
  const census = new Census();
  for (let id = 0n; id < 100_000n; id++) census.put(id * 7n, id, true);
  for (let id = 0n; id < 100_000n; id++) if (id % 10n !== 0n) census.delete(id * 7n);
  for (let id = 0n; id < 100_000n; id++) assert.equal(census.compare(id * 7n, id), id % 10n === 0n ? 'same' : 'absent');
});
