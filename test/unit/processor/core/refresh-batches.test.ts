import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Batch, type BatchInput, NOTHING_ASKED } from '../../../../src/processor/core/batch.ts';
import { InstrumentTable } from '../../../../src/processor/core/instrument-table.ts';
import { RefreshBatches } from '../../../../src/processor/core/refresh-batches.ts';

const table = new InstrumentTable(['overview']);

function batchOf(size: number, { isAlone = false, inputs = [] }: Partial<Batch> = {}): Batch {
  const questions = Array.from({ length: size }, (_, at) => table.put(String(at), `isin-${at}`, 0));
  return { kind: 'overview', questions, inputs, isAlone };
}

const answersTo = (count: number) => ({
  ...NOTHING_ASKED,
  outcomes: Array.from({ length: count }, () => ({ kind: 'refused', status: 400 }) as const),
});
const idsOf = (parts: ReturnType<RefreshBatches['takeAnswered']>) =>
  parts.map(({ questions }) => questions.map(({ id }) => id));

test('four batches are open at a time, and two of single instruments beside them', () => {
  const refreshes = new RefreshBatches();
  for (let open = 0; open < 4; open++) {
    assert.equal(refreshes.isFull(false), false);
    refreshes.add(batchOf(3));
  }
  assert.deepEqual([refreshes.isFull(false), refreshes.isFull(true)], [true, false]);
  for (let open = 0; open < 2; open++) refreshes.add(batchOf(1, { isAlone: true }));
  assert.equal(refreshes.isFull(true), true);
});

test('a batch is open until the last of its answers is taken, in whatever order they come', () => {
  const refreshes = new RefreshBatches();
  const [batch] = Array.from({ length: 4 }, () => {
    const one = batchOf(5);
    refreshes.add(one);
    return one;
  });
  assert.ok(batch);
  refreshes.answered(batch, 3, answersTo(2));
  assert.deepEqual(idsOf(refreshes.takeAnswered()), [['3', '4']]);
  refreshes.answered(batch, 0, answersTo(3));
  assert.equal(refreshes.isFull(false), true, 'what is answered is not taken yet');
  assert.deepEqual(idsOf(refreshes.takeAnswered()), [['0', '1', '2']]);
  assert.deepEqual([refreshes.isFull(false), refreshes.takeAnswered()], [false, []]);
});

test('a batch of records that wait no longer is open until what was left of it is taken', () => {
  const refreshes = new RefreshBatches();
  const batch = batchOf(5, { inputs: [{} as BatchInput] });
  refreshes.add(batch, 2);
  assert.equal(refreshes.adopted, 1);
  refreshes.answered(batch, 3, answersTo(2));
  refreshes.takeAnswered();
  assert.equal(refreshes.adopted, 0);
});

test('what one transaction takes is limited, and the rest comes with the next one', () => {
  const refreshes = new RefreshBatches();
  for (let open = 0; open < 3; open++) {
    const batch = batchOf(1_000);
    refreshes.add(batch);
    refreshes.answered(batch, 0, answersTo(1_000));
  }
  const taken = () => refreshes.takeAnswered().map(({ questions }) => questions.length);
  assert.deepEqual([taken(), taken(), taken()], [[1_000, 1_000], [1_000], []]);
});
