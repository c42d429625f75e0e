import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceQuestion } from '../../../../src/prices/bulk-prices.ts';
import { ask, calling, forever, has, MINUTE_MS, questions, refusal } from '../bulk-calling.ts';
import { drivePartitions, isinOf } from '../driven-partitions.ts';

const TOGETHER_MS = 50;
const FOREVER_MS = 1_000 * MINUTE_MS;

/** Questions of a partition of its own. */
function partition(number: number, count: number): PriceQuestion[] {
  return questions(count).map(({ instrumentId, isin }) => {
    return { instrumentId: `${number}${instrumentId}`, isin: `${isin}-${number}` };
  });
}

function sharing(options: Partial<Parameters<typeof calling>[0]> = {}) {
  return calling({ refuse: () => null, maxItems: 20, togetherMs: TOGETHER_MS, ...options });
}

test('small batches are one call, and each gets its own answers; its calls are counted once', async () => {
  const { caller, calls } = sharing();
  const batches = [partition(1, 3), partition(2, 1), partition(3, 6)];
  const asked = await Promise.all(batches.map((batch) => ask(caller, 'overview', batch, forever)));
  assert.deepEqual(calls, [10]);
  for (const [at, { outcomes }] of asked.entries()) {
    const values = outcomes.map((outcome) => (outcome.kind === 'prices' ? String(outcome.records[0]?.value) : ''));
    assert.deepEqual(
      values,
      batches[at]?.map(({ isin }) => isin),
    );
  }
  assert.deepEqual(
    asked.map((one) => one.calls),
    [1, 0, 0],
  );
});

test('a call takes no more than it may, no isin twice, and nothing of another kind; a large batch waits for none', async () => {
  const { caller, calls } = sharing();
  const askAll = (...batches: PriceQuestion[][]) => batches.map((batch) => ask(caller, 'overview', batch, forever));
  await Promise.all(askAll(partition(1, 9), partition(2, 9), partition(3, 9)));
  assert.deepEqual(calls.splice(0).sort(), [18, 9].sort());
  await Promise.all(askAll(partition(1, 2), partition(1, 2)));
  assert.deepEqual(calls.splice(0), [2, 2]);
  await Promise.all([...askAll(partition(1, 2)), ask(caller, 'daily', partition(2, 2), forever)]);
  assert.deepEqual(calls.splice(0), [2, 2]);
  await Promise.all(askAll(partition(1, 11), partition(2, 2), partition(3, 2)));
  assert.deepEqual(calls, [11, 4]);
});

test('one item spoils a shared call: all others are answered by the calls that find it', async () => {
  for (const spoil of [
    { refuse: (asked: readonly PriceQuestion[]) => (has(asked, 'isin-2-1') ? refusal(400) : null) },
    { takesMs: (asked: readonly PriceQuestion[]) => (has(asked, 'isin-2-1') ? FOREVER_MS : 1) },
  ]) {
    const { caller, calls } = sharing(spoil);
    const askedOf = (number: number) => ask(caller, 'overview', partition(number, 4), forever);
    const all = await Promise.all([askedOf(1), askedOf(2), askedOf(3)]);
    assert.ok(calls.length <= 10, `${calls}`);
    const kinds = all.flatMap(({ outcomes }) => outcomes.map(({ kind }) => kind));
    assert.deepEqual(
      kinds,
      kinds.map((_, at) => (at === 2 ? 'refused' : 'prices')),
    );
  }
});

test('a partition that is lost takes its questions out of the call, or the call goes on without it', async () => {
  const { caller, calls } = sharing();
  const lost = new AbortController();
  const left = ask(caller, 'overview', partition(1, 4), lost.signal);
  const stays = ask(caller, 'overview', partition(2, 4), forever);
  lost.abort(new Error('the partition is lost'));
  await assert.rejects(left, /is lost/);
  assert.ok((await stays).outcomes.every(({ kind }) => kind === 'prices'));
  assert.deepEqual(calls.splice(0), [4]);

  const later = new AbortController();
  const during = calling({
    refuse: () => null,
    togetherMs: TOGETHER_MS,
    takesMs: () => {
      later.abort(new Error('the partition is lost'));
      return 5;
    },
  });
  const leaves = ask(during.caller, 'overview', partition(1, 4), later.signal);
  const goesOn = ask(during.caller, 'overview', partition(2, 4), forever);
  await assert.rejects(leaves, /is lost/);
  assert.ok((await goesOn).outcomes.every(({ kind }) => kind === 'prices'));
  assert.deepEqual(during.calls, [8]);
});

test('an instrument that hangs its calls keeps those of other partitions late once, and shares no call after that', async (t) => {
  const culprit = String(1_000 + 7 * 12);
  const driven = drivePartitions({
    instruments: 50,
    partitions: 6,
    takesMs: (asked) => (has(asked, isinOf(culprit)) ? FOREVER_MS : 200),
  });
  t.after(() => driven.stop());
  for (let minute = 0; minute < 30; minute++) {
    await driven.clock.advance(MINUTE_MS);
    assert.deepEqual(
      driven.overdue('overview').filter((id) => id !== culprit),
      [],
    );
  }
  const spoilt = driven.calls.filter(({ ids }) => ids.length > 1 && ids.includes(culprit));
  assert.ok((spoilt.at(-1)?.atMs ?? 0) < 3 * MINUTE_MS, 'it shares a call again');
  const shared = driven.calls.filter(({ atMs, ids }) => atMs > 5 * MINUTE_MS && ids.length === 49);
  assert.ok(shared.length >= 24, `${shared.length} calls of all others in 25 minutes`);
});
