import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import type { PriceQuestion } from '../../../../src/processor/bulk-prices.ts';
import { SteppedClock } from '../../kafka/stepped-clock.ts';
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

for (const [what, spoil] of [
  ['refused', { refuse: (asked: readonly PriceQuestion[]) => (has(asked, 'isin-2-1') ? refusal(400) : null) }],
  ['failed', { refuse: (asked: readonly PriceQuestion[]) => (has(asked, 'isin-2-1') ? refusal(500) : null) }],
  ['hung', { takesMs: (asked: readonly PriceQuestion[]) => (has(asked, 'isin-2-1') ? FOREVER_MS : 1) }],
] as const) {
  test(`one item has its shared call ${what}: the other partitions are answered by the next call`, async () => {
    const { caller, calls, seen } = sharing(spoil);
    const askedOf = (number: number) => ask(caller, 'overview', partition(number, 4), forever);
    const [own, ...others] = await Promise.all([askedOf(1), askedOf(2), askedOf(3)]);
    assert.deepEqual(calls.slice(0, 4), [12, 4, 4, 4]);
    assert.equal(seen[0]?.name, 'batchBisected', 'it is reported like any other that is divided');
    for (const { outcomes, calls: made } of others) {
      assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
      assert.equal(made, 1, 'it takes part in the search for the item of another partition');
    }
    assert.deepEqual(
      own?.outcomes.map(({ kind }) => kind),
      ['prices', 'prices', 'refused', 'prices'],
    );
  });
}

test('what must wait is asked for again by each partition when it has waited, and not at once', async () => {
  const busy = new ConnectorError('PROVIDER_BUSY', 'status 429', { fields: { status: 429 }, retryAfterMs: MINUTE_MS });
  const { caller, calls, seen } = sharing({ refuse: (_asked, call) => (call === 1 ? busy : null) });
  await Promise.all([1, 2].map((number) => ask(caller, 'overview', partition(number, 4), forever)));
  assert.deepEqual(calls, [8, 4, 4]);
  assert.deepEqual(
    seen.map(({ name }) => name),
    ['bulkAttemptFailed', 'bulkAttemptFailed'],
  );
});

test('a size that the provider does not take is learnt, and shared calls keep to it', async () => {
  const { caller, calls } = sharing({ refuse: (asked) => (asked.length > 8 ? refusal(413) : null) });
  const askAll = () => Promise.all([1, 2, 3].map((number) => ask(caller, 'overview', partition(number, 4), forever)));
  for (const _ of ['the refusal may have passed', 'it has not']) {
    await askAll();
    assert.deepEqual(calls.splice(0), [12, 4, 4, 4]);
  }
  await askAll();
  assert.deepEqual(calls, [4, 4, 4]);
});

for (const [what, passing] of [
  ['a 400', refusal(400)],
  ['a 413', refusal(413)],
  ['a body that is too large', new ConnectorError('BODY_TOO_LARGE', 'it is too large')],
] as const) {
  test(`${what} that passes says nothing about the size, even where nothing else was answered since the start`, async () => {
    const { caller, calls, seen } = sharing({ refuse: (_asked, call) => (call === 1 ? passing : null), maxItems: 500 });
    const shared = [1, 2].map((number) => ask(caller, 'overview', partition(number, 1), forever));
    for (const { outcomes } of await Promise.all(shared)) assert.equal(outcomes[0]?.kind, 'prices');
    assert.equal(caller.maxItems('overview'), 500);
    await ask(caller, 'overview', partition(3, 500), forever);
    assert.deepEqual(calls, [2, 1, 1, 500], 'five hundred instruments cost one call');
    assert.ok(!seen.some(({ name }) => name === 'batchLimitLearnt'));
  });
}

test('what passes says nothing about the size either where it met several calls at the same time', async () => {
  const clock = new SteppedClock();
  const goodFromMs = 1_000;
  const { caller, calls } = calling({
    refuse: () => (clock.monotonicMs() < goodFromMs ? refusal(400) : null),
    togetherMs: TOGETHER_MS,
    takesMs: (asked) => (asked.length === 1 ? goodFromMs : 100),
    maxItems: 500,
    clock,
  });
  const answered: Promise<unknown>[] = [];
  for (let pair = 0; pair < 3; pair++) {
    for (const one of [1, 2]) answered.push(ask(caller, 'overview', partition(2 * pair + one, 1), forever));
    await clock.advance(TOGETHER_MS + 1);
  }
  await clock.advance(10 * MINUTE_MS);
  await Promise.all(answered);
  assert.deepEqual(calls.slice().sort(), [1, 1, 1, 1, 1, 1, 2, 2, 2]);
  assert.equal(caller.maxItems('overview'), 500);
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
