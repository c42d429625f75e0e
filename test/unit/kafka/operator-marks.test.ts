import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorMarks, operatorMark } from '../../../src/kafka/offset-store.ts';

const mark = (timestampMs: number, fencings: number) => {
  return { ...operatorMark({ topic: 'offsets', partition: 3, fencings }), timestampMs };
};

test('a mark counts once, however often its partition is read from the beginning', () => {
  const marks = new OperatorMarks();
  marks.take(mark(4, 1));
  marks.take(mark(9, 2));
  assert.equal(marks.drain(), 3);
  assert.equal(marks.drain(), 0);
  marks.take(mark(4, 1));
  marks.take(mark(9, 2));
  marks.take(mark(12, 1));
  assert.equal(marks.drain(), 1);
});

test('a mark whose number cannot be read stands for one fencing', () => {
  const marks = new OperatorMarks();
  marks.take({ ...mark(1, 1), headers: { 'spc-fencings': 'many' } });
  marks.take({ ...mark(2, 1), headers: {} });
  assert.equal(marks.drain(), 2);
});
