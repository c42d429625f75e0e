import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { PriceQuestion } from '../../../src/prices/bulk-prices.ts';
import { seededRandom } from '../../simulation/random.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { ask, calling, forever, has, MINUTE_MS, questions, refusal } from './bulk-calling.ts';

for (const error of [refusal(400), refusal(413), refusal(503), new ConnectorError('BODY_TOO_LARGE', 'too large')]) {
  test(`a provider that takes no more than 200 items, and answers more with ${error.message}, gets fewer at a time`, async () => {
    let mostItems = 200;
    const { caller, calls, seen, clock } = calling({
      refuse: (asked) => (asked.length > mostItems ? error : null),
      maxItems: 500,
    });
    const askAll = async () => {
      calls.length = 0;
      const { outcomes } = await ask(caller, 'overview', questions(500), forever);
      assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
      return [...calls];
    };
    for (const maxItems of [500, 250]) {
      assert.deepEqual(await askAll(), [500, 1, 499, 125, 125, 125, 124]);
      assert.equal(caller.maxItems('overview'), maxItems);
    }
    for (let rounds = 0; rounds < 3; rounds++) await askAll();
    assert.deepEqual(await askAll(), [125, 125, 125, 125]);
    const learnt = seen.filter(({ name }) => name === 'batchLimitLearnt').map(({ fields }) => fields);
    const expected = [250, 125].map((maxItems) => ({ kind: 'overview', maxItems }));
    assert.deepEqual(learnt, expected);
    assert.equal(caller.maxItems('daily'), 500);
    await clock.sleep(2 * MINUTE_MS);
    assert.equal(caller.maxItems('overview'), 250, 'a larger call is due');
    assert.deepEqual((await askAll()).slice(0, 4), [250, 125, 125, 1], 'one larger call, which fails');
    assert.equal(caller.maxItems('overview'), 125);
    await clock.sleep(MINUTE_MS);
    assert.equal(caller.maxItems('overview'), 125, 'the next one is due later');
    mostItems = 500;
    await clock.sleep(2 * MINUTE_MS);
    assert.deepEqual(
      [await askAll(), await askAll()],
      [[250, 125, 125], [500]],
      'an answered larger call raises the limit at once',
    );
  });
}

test('calls that fail by chance teach no limit, and soon after it every call is whole', async () => {
  for (const rate of [0.3, 0.5, 0.8]) {
    for (let seed = 1; seed <= 5; seed++) {
      const clock = new SteppedClock();
      const random = seededRandom(seed);
      let isBad = true;
      const mismatch = new ConnectorError('BULK_MISMATCH', 'other products');
      const refuse = () => (isBad && random() < rate ? mismatch : null);
      const { caller, calls, seen } = calling({ clock, maxItems: 500, takesMs: () => 50, refuse });
      let isOver = false;
      const partition = async (isins: readonly PriceQuestion[]) => {
        while (!isOver) {
          await ask(caller, 'overview', isins, forever);
          await clock.sleep(10_000);
        }
      };
      const ended = Array.from({ length: 6 }, (_, at) => partition(questions(3_000).slice(500 * at, 500 * at + 500)));
      await clock.advance(MINUTE_MS);
      isBad = false;
      await clock.advance(2 * MINUTE_MS);
      calls.length = 0;
      await clock.advance(MINUTE_MS);
      const learnt = seen.filter(({ name }) => name === 'batchLimitLearnt');
      assert.deepEqual([learnt, calls.filter((items) => items < 300)], [[], []], `rate ${rate}, seed ${seed}`);
      isOver = true;
      await clock.advance(MINUTE_MS);
      await Promise.all(ended);
    }
  }
});

test('a limit is learnt from calls of several sizes as well', async () => {
  const { caller } = calling({ refuse: (asked) => (asked.length > 200 ? refusal(400) : null), maxItems: 500 });
  for (let round = 0; round < 2; round++) {
    for (const items of [262, 250, 238, 243]) await ask(caller, 'overview', questions(items), forever);
  }
  assert.ok(caller.maxItems('overview') <= 200, `${caller.maxItems('overview')}`);
});

test('a bad item is found beneath an unknown limit as well, and the limit too', async () => {
  const { caller, calls } = calling({
    refuse: (asked) => (asked.length > 200 || has(asked, 'isin-3') ? refusal(400) : null),
    maxItems: 500,
  });
  const { outcomes } = await ask(caller, 'overview', questions(500), forever);
  const unpriced = outcomes.flatMap(({ kind }, at) => (kind === 'prices' ? [] : [at]));
  assert.deepEqual(unpriced, [3]);
  for (let batches = 0; batches < 5; batches++) await ask(caller, 'overview', questions(500), forever);
  assert.equal(caller.maxItems('overview'), 124);
  assert.ok(calls.length < 80, `${calls.length} calls`);
});

for (const code of ['TOKEN_FAILED', 'REGISTRY_REFUSED'] as const) {
  test(`${code} with the status of a refusal is waited for, and nobody is blamed`, async () => {
    const error = new ConnectorError(code, 'status 400', { fields: { status: 400 } });
    const { caller, calls } = calling({ refuse: (_, call) => (call <= 5 ? error : null) });
    const { outcomes } = await ask(caller, 'overview', questions(100), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.deepEqual(calls, [100, 1, 1, 1, 1, 1, 99]);
  });
}

test('where all others are refused, too, a batch ends after twenty of them without a wait', async () => {
  const others = questions(1_000).slice(-20);
  const { caller, calls, clock } = calling({ refuse: () => refusal(400), maxItems: 500, others });
  const startedMs = clock.monotonicMs();
  await assert.rejects(ask(caller, 'daily', questions(100), forever), {
    code: 'PROVIDER_REFUSED',
    message: /of a sample. Expected an answer for at least one product: status 400/,
  });
  assert.equal(calls.length, 21);
  assert.ok(clock.monotonicMs() - startedMs < MINUTE_MS);
});

test('where one of the others is answered, any number of refused neighbours are to blame', async () => {
  for (const from of [0, 40, 100]) {
    const refused = Array.from({ length: 100 }, (_, at) => `isin-${at + from}`);
    const { caller, calls, clock } = calling({
      refuse: (asked) => (has(asked, ...refused) ? refusal(400) : null),
      maxItems: 200,
      others: [...questions(200).slice(50, 60), ...questions(200).slice(-60, -50), { instrumentId: '7', isin: 'good' }],
    });
    const startedMs = clock.monotonicMs();
    const { outcomes } = await ask(caller, 'daily', questions(200), forever);
    assert.equal(outcomes.filter(({ kind }) => kind === 'prices').length, 100);
    assert.ok(clock.monotonicMs() - startedMs < MINUTE_MS, `from ${from}`);
    assert.ok(calls.length < 350, `${calls.length} calls`);
  }
});

test('where few are answered, the one that was answered last shows that the requests are right', async () => {
  const { caller } = calling({
    refuse: (asked) => (asked.some(({ isin }) => isin !== 'isin-0') ? refusal(400) : null),
    maxItems: 100,
    others: questions(100).slice(-20),
  });
  await ask(caller, 'daily', questions(1), forever);
  const { outcomes } = await ask(caller, 'daily', questions(100), forever);
  assert.equal(outcomes.filter(({ kind }) => kind === 'prices').length, 1);
});

for (const failure of [
  refusal(503),
  new ConnectorError('PROVIDER_BUSY', 'not sent', { fields: { heldBackBy: 429 }, retryAfterMs: MINUTE_MS }),
]) {
  test(`others that fail, and are not refused, end no batch: the refused items wait until it is known, ${failure.message}`, async () => {
    let outages = 0;
    const { caller } = calling({
      refuse(asked) {
        if (!has(asked, 'other')) return refusal(400);
        return ++outages <= 3 ? failure : null;
      },
      maxItems: 100,
      others: [{ instrumentId: '7', isin: 'other' }],
    });
    const { outcomes } = await ask(caller, 'daily', questions(30), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'refused'));
    assert.ok(outages >= 4);
  });
}

test('no more calls are in flight than the settings say', async () => {
  const { caller, mostInFlight } = calling({ refuse: () => null, concurrency: 3 });
  await Promise.all(Array.from({ length: 20 }, () => ask(caller, 'overview', questions(2), forever)));
  assert.equal(mostInFlight(), 3);
});

test('what no repetition mends ends the call, and so does the signal', async () => {
  const incompatible = new ConnectorError('SCHEMA_INCOMPATIBLE', 'not compatible');
  const { caller } = calling({ refuse: () => incompatible });
  await assert.rejects(ask(caller, 'overview', questions(4), forever), incompatible);
  const stopping = new AbortController();
  const { caller: other } = calling({
    refuse() {
      stopping.abort(new Error('stopped'));
      return refusal(503);
    },
  });
  await assert.rejects(ask(other, 'overview', questions(4), stopping.signal), /stopped/);
});

test('a failure that passes teaches nothing about the size', async () => {
  let down = 0;
  const { caller, calls } = calling({ refuse: () => (down-- > 0 ? refusal(413) : null) });
  for (const failures of [1, 3, 1]) {
    down = failures;
    await ask(caller, 'overview', questions(500), forever);
    assert.equal(caller.maxItems('overview'), 1_000);
  }
  assert.equal(calls.filter((items) => items > 1).length, 6);
});

const TOGETHER_MS = 50;

/** Questions of a partition of its own. */
function partition(number: number, count: number): PriceQuestion[] {
  return questions(count).map(({ instrumentId, isin }) => {
    return { instrumentId: `${number}${instrumentId}`, isin: `${isin}-${number}` };
  });
}

function sharing(options: Partial<Parameters<typeof calling>[0]> = {}) {
  return calling({ refuse: () => null, maxItems: 20, togetherMs: TOGETHER_MS, ...options });
}

test('small batches are one call, and each gets its own answers', async () => {
  const { caller, calls } = sharing();
  const batches = [partition(1, 3), partition(2, 1), partition(3, 6)];
  const asked = await Promise.all(batches.map((batch) => ask(caller, 'overview', batch, forever)));
  assert.deepEqual(calls, [10]);
  for (const [at, { outcomes }] of asked.entries()) {
    const values = outcomes.map((outcome) => (outcome.kind === 'prices' ? String(outcome.records[0]?.value) : ''));
    const isins = batches[at]?.map(({ isin }) => isin);
    assert.deepEqual(values, isins);
  }
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
