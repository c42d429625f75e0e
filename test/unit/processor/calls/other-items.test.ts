import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { bulkFailureOf } from '../../../../src/processor/bulk-failure.ts';
import type { PriceQuestion } from '../../../../src/processor/bulk-prices.ts';
import { areRequestsDoubted, isAnyAnswered, spreadOver } from '../../../../src/processor/other-items.ts';
import { questions, refusal } from '../bulk-calling.ts';

const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');

/** Calls of which each item is answered, or fails in its own way; `asked`: the items, each of a call for it alone. */
function scene(failures: Readonly<Record<string, Error>>, refusedAlone = 20) {
  const asked: string[] = [];
  const stopping = new AbortController();
  const calls = {
    refusedAlone,
    answeredLast: [],
    async ask([question, ...more]: readonly PriceQuestion[]) {
      assert.ok(question && more.length === 0);
      asked.push(question.isin);
      const failure = failures[question.isin];
      if (failure !== undefined) throw failure;
      return { answers: [], errorsFlagDiffers: false, drift: 0, roundedNumbers: 0 };
    },
  };
  const asking = { called: () => {}, signal: stopping.signal };
  const doubted = (error: ConnectorError) =>
    areRequestsDoubted({ failure: bulkFailureOf(error), error }, { calls, sampleOthers: () => questions(3), asking });
  return { asked, calls, asking, doubted, stopping };
}

const refused = { 'isin-0': refusal(400), 'isin-1': refusal(400), 'isin-2': refusal(413) };

test('after twenty refused items others are asked for one by one, until one is answered', async () => {
  const { asked, doubted } = scene({ 'isin-0': refusal(400) });
  assert.equal(await doubted(refusal(400)), false);
  assert.deepEqual(asked, ['isin-0', 'isin-1']);
});

test('others are not asked for after fewer refused items, nor for an answer that does not fit', async () => {
  for (const [refusedAlone, error] of [
    [19, refusal(400)],
    [20, misfit],
    [20, refusal(503)],
  ] as const) {
    const { asked, doubted } = scene(refused, refusedAlone);
    assert.deepEqual([await doubted(error), asked], [false, []]);
  }
});

test('when all others are refused, too, the error says so; when one is not, it stays in doubt', async () => {
  await assert.rejects(scene(refused).doubted(refusal(400)), { code: 'PROVIDER_REFUSED', fields: { status: 400 } });
  for (const failure of [misfit, refusal(503), refusal(401)]) {
    assert.equal(await scene({ ...refused, 'isin-1': failure }).doubted(refusal(400)), true, failure.message);
  }
});

test('others that are given up with the session say nothing', async () => {
  const { asked, calls, asking, doubted, stopping } = scene(refused);
  stopping.abort(new Error('the session has ended'));
  await assert.rejects(doubted(refusal(400)), /the session has ended/);
  assert.equal(asked.length, 1);
  await assert.rejects(isAnyAnswered(questions(2), calls, asking), /the session has ended/);
});

test('a sample lies far apart, begins anywhere, and is no larger than what there is', () => {
  const items = Array.from({ length: 10 }, (_, at) => at);
  assert.deepEqual(
    [0, 0.5, 0.999].map((random) => spreadOver(items, 2, () => random)),
    [
      [0, 5],
      [2, 7],
      [4, 9],
    ],
  );
  assert.deepEqual(
    spreadOver([1, 2], 5, () => 0.5),
    [1, 2],
  );
  assert.deepEqual(
    spreadOver([], 5, () => 0.5),
    [],
  );
});
