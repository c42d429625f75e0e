import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Batch, type BatchInput, NOTHING_ASKED, RefreshBatches } from '../../../../src/prices/core/batch.ts';
import { InstrumentTable } from '../../../../src/prices/core/instrument-table.ts';

const table = new InstrumentTable(['overview']);

function batchOf(size: number, { inputs = [] }: Partial<Batch> = {}): Batch {
  const questions = Array.from({ length: size }, (_, at) => table.put(String(at), `isin-${at}`, 0));
  return { kind: 'overview', questions, inputs };
}

const answersTo = (count: number) => ({
  ...NOTHING_ASKED,
  outcomes: Array.from({ length: count }, () => ({ kind: 'refused', status: 400, code: 'PROVIDER_REFUSED' }) as const),
});
const idsOf = (parts: ReturnType<RefreshBatches['takeAnswered']>) =>
  parts.map(({ questions }) => questions.map(({ id }) => id));

test('four full batches are open at a time; one of which a question is left counts as one question', () => {
  const refreshes = new RefreshBatches();
  for (let open = 0; open < 4; open++) {
    assert.equal(refreshes.isFull(3), false);
    const batch = batchOf(3);
    refreshes.add(batch);
    refreshes.answered(batch, [0, 2], answersTo(2));
  }
  assert.equal(refreshes.isFull(3), true);
  refreshes.takeAnswered();
  for (let open = 0; open < 2; open++) {
    assert.equal(refreshes.isFull(3), false);
    refreshes.add(batchOf(3));
  }
  assert.equal(refreshes.isFull(3), true);
});

test('a batch is open until the last of its answers is taken, in whatever order they come', () => {
  const refreshes = new RefreshBatches();
  const [batch] = Array.from({ length: 4 }, () => {
    const one = batchOf(5);
    refreshes.add(one);
    return one;
  });
  assert.ok(batch);
  refreshes.answered(batch, [3, 4], answersTo(2));
  assert.deepEqual(idsOf(refreshes.takeAnswered()), [['3', '4']]);
  refreshes.answered(batch, [0, 1, 2], answersTo(3));
  assert.equal(refreshes.isFull(5), true, 'what is answered is not taken yet');
  assert.deepEqual(idsOf(refreshes.takeAnswered()), [['0', '1', '2']]);
  assert.deepEqual([refreshes.isFull(5), refreshes.takeAnswered()], [false, []]);
});

test('a batch of records that wait no longer is open until what was left of it is taken', () => {
  const refreshes = new RefreshBatches();
  const batch = batchOf(5, { inputs: [{} as BatchInput] });
  refreshes.add(batch, 2);
  assert.equal(refreshes.adopted, 1);
  refreshes.answered(batch, [3, 4], answersTo(2));
  refreshes.takeAnswered();
  assert.equal(refreshes.adopted, 0);
});

test('what one transaction takes is limited, and the rest comes with the next one', () => {
  const refreshes = new RefreshBatches();
  for (let open = 0; open < 3; open++) {
    const batch = batchOf(1_000);
    refreshes.add(batch);
    refreshes.answered(batch, [...batch.questions.keys()], answersTo(1_000));
  }
  const taken = () => refreshes.takeAnswered().map(({ questions }) => questions.length);
  assert.deepEqual([taken(), taken(), taken()], [[1_000, 1_000], [1_000], []]);
});
