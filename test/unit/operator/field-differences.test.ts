import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldDifferences } from '../../../src/operator/field-differences.ts';

test('every field that differs is named by its pointer, with both values', () => {
  const provider = { id: '1', a: { 'b/c': '1', same: 's' }, list: [{ x: 1 }, { x: 2 }], kind: ['k'], gone: 'g' };
  const topic = {
    id: '1',
    a: { 'b/c': '2', same: 's' },
    list: [{ x: 1 }, { x: 3 }, { x: 4 }],
    kind: { k: 1 },
    more: 'm',
  };
  assert.deepEqual(fieldDifferences(provider, topic), [
    { pointer: '/a/b~1c', provider: '1', topic: '2' },
    { pointer: '/list/1/x', provider: 2, topic: 3 },
    { pointer: '/list/2', provider: null, topic: { x: 4 } },
    { pointer: '/kind', provider: ['k'], topic: { k: 1 } },
    { pointer: '/gone', provider: 'g', topic: null },
    { pointer: '/more', provider: null, topic: 'm' },
  ]);
});

test('a field that one schema does not have is null, and records that are equal differ in nothing', () => {
  assert.deepEqual(fieldDifferences({ id: '1', later: null }, { id: '1' }), []);
  assert.deepEqual(fieldDifferences({ a: [{ b: null }] }, { a: [{ b: null }] }), []);
});
