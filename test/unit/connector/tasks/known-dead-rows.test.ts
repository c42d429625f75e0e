import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownDeadRows } from '../../../../src/connector/tasks/known-dead-rows.ts';

const row = (key: string | null, text: string) => ({ key, raw: Buffer.from(text) });

test('a row is known by its content and its key, once it was remembered', () => {
  const known = new KnownDeadRows();
  assert.equal(known.isKnown(row('7', 'a')), false);
  known.remember([row('7', 'a'), row(null, 'b')]);
  assert.deepEqual([known.isKnown(row('7', 'a')), known.isKnown(row(null, 'b'))], [true, true]);
  assert.deepEqual([known.isKnown(row('7', 'c')), known.isKnown(row('8', 'a'))], [false, false]);
});

test('of more rows than fit the one that was met longest ago is forgotten', () => {
  const known = new KnownDeadRows();
  known.remember([row('0', 'x'), row('1', 'x')]);
  known.remember([row('0', 'x')]);
  known.remember(Array.from({ length: 65_535 }, (_, at) => row(String(at + 2), 'x')));
  assert.deepEqual([known.isKnown(row('0', 'x')), known.isKnown(row('1', 'x'))], [true, false]);
});
