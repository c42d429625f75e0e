import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Batch, RefreshBatches } from '../../../../src/prices/core/batch.ts';
import { InstrumentTable } from '../../../../src/prices/core/instrument-table.ts';

const table = new InstrumentTable(['overview']);

function batchOf(size: number): Batch {
  const questions = Array.from({ length: size }, (_, at) => table.put(String(at), `isin-${at}`, 0));
  return { kind: 'overview', questions, inputs: [] };
}

const answersTo = (count: number) =>
  Array.from({ length: count }, () => ({ kind: 'refused', status: 400, code: 'PROVIDER_REFUSED' }) as const);

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
