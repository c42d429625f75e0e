import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { ask, calling, forever, has, MINUTE_MS, questions, refusal } from './bulk-calling.ts';

for (const [why, error, status] of [
  ['gets the whole call refused', refusal(400), 400],
  ['gets an answer that does not fit', new ConnectorError('BULK_MISMATCH', 'it has other items'), null],
] as const) {
  test(`one item of a thousand that ${why} is found with twenty more calls; all others are priced`, async () => {
    const { caller, calls } = calling({ refuse: (asked) => (has(asked, 'isin-618') ? error : null) });
    const { outcomes, calls: counted } = await ask(caller, 'overview', questions(1_000), forever);
    assert.equal(counted, calls.length);
    assert.ok(calls.length <= 21, `${calls.length} calls`);
    for (const [at, outcome] of outcomes.entries()) {
      if (at === 618) assert.deepEqual(outcome, { kind: 'refused', status });
      else assert.equal(outcome.kind === 'prices' && String(outcome.records[0]?.value), `isin-${at}`);
    }
    // Nothing was learnt about how much may be asked for: it was that one item.
    assert.equal(caller.maxItems('overview'), 1_000);
  });
}

for (const status of [400, 413]) {
  test(`the largest batch of a provider that refuses more than 200 with ${status} is learnt once`, async () => {
    const { caller, calls, seen, clock } = calling({
      refuse: (asked) => (asked.length > 200 ? refusal(status) : null),
      maxItems: 500,
    });
    const { outcomes } = await ask(caller, 'overview', questions(500), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.equal(caller.maxItems('overview'), 125);
    assert.deepEqual(
      seen.filter(({ name }) => name === 'batchLimitLearnt').map(({ fields }) => fields),
      [{ kind: 'overview', maxItems: 125 }],
    );
    assert.equal(caller.maxItems('daily'), 500);
    calls.length = 0;
    await ask(caller, 'overview', questions(500), forever);
    assert.deepEqual(calls, [125, 125, 125, 125]);
    await clock.sleep(61 * MINUTE_MS);
    assert.equal(caller.maxItems('overview'), 500, 'the limit is tried without again');
  });
}

test('a bad item is found beneath an unknown limit as well, and the limit too', async () => {
  const { caller, calls } = calling({
    refuse: (asked) => (asked.length > 200 || has(asked, 'isin-3') ? refusal(400) : null),
    maxItems: 500,
  });
  // The first time the refusal for the size may have passed.
  for (const maxItems of [500, 125]) {
    calls.length = 0;
    const { outcomes } = await ask(caller, 'overview', questions(500), forever);
    assert.deepEqual(
      outcomes.flatMap(({ kind }, at) => (kind === 'prices' ? [] : [at])),
      [3],
    );
    assert.equal(caller.maxItems('overview'), maxItems);
    assert.ok(calls.length < 30, `${calls.length} calls`);
  }
});

for (const status of [401, 403, 404, 408, 429]) {
  test(`a call answered with ${status} is repeated as it was, however often`, async () => {
    const { caller, calls } = calling({ refuse: (_, call) => (call <= 30 ? refusal(status) : null) });
    const { outcomes } = await ask(caller, 'overview', questions(100), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.deepEqual(new Set(calls), new Set([100]));
  });
}

for (const code of ['TOKEN_FAILED', 'REGISTRY_REFUSED'] as const) {
  test(`${code} with the status of a refusal is waited for, and nobody is blamed`, async () => {
    const error = new ConnectorError(code, 'status 400', { fields: { status: 400 } });
    const { caller, calls } = calling({ refuse: (_, call) => (call <= 5 ? error : null) });
    const { outcomes } = await ask(caller, 'overview', questions(100), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.deepEqual(
      calls,
      Array.from({ length: 6 }, () => 100),
    );
  });
}

test('a server that fails for everyone is waited for, and nobody is blamed', async () => {
  const { caller, calls, clock } = calling({ refuse: (_, call) => (call <= 40 ? refusal(503) : null) });
  const startedMs = clock.monotonicMs();
  const { outcomes } = await ask(caller, 'overview', questions(100), forever);
  assert.ok(clock.monotonicMs() - startedMs > 5 * MINUTE_MS);
  assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
  const whole = calls.filter((items) => items === 100).length;
  assert.ok(whole > 5 && calls.length <= 3 * whole + 4, `${calls.length} calls, ${whole} of them for all`);
});

test('a body that is too large for one item alone is a failure of that item', async () => {
  const large = new ConnectorError('BODY_TOO_LARGE', 'too large');
  const { caller } = calling({ refuse: (asked) => (has(asked, 'isin-7') ? large : null) });
  const { outcomes } = await ask(caller, 'overview', questions(16), forever);
  assert.deepEqual(
    outcomes.flatMap((outcome, at) => (outcome.kind === 'prices' ? [] : [[at, outcome]])),
    [[7, { kind: 'refused', status: null }]],
  );
});

test('a body that is too large is asked for in halves, and from the second one on at once', async () => {
  const large = new ConnectorError('BODY_TOO_LARGE', 'too large');
  const { caller, calls } = calling({ refuse: (asked) => (asked.length > 60 ? large : null), maxItems: 100 });
  for (let round = 0; round < 3; round++) await ask(caller, 'daily', questions(100), forever);
  assert.equal(caller.maxItems('daily'), 50);
  assert.deepEqual(calls, [100, 50, 50, 100, 50, 50, 50, 50]);
});

test('when all is refused, it is rather our requests than the items: few are blamed a minute', async () => {
  const { caller, calls, clock } = calling({ refuse: () => refusal(400), maxItems: 500 });
  const startedMs = clock.monotonicMs();
  await ask(caller, 'overview', questions(100), forever);
  assert.ok(clock.monotonicMs() - startedMs > 30 * MINUTE_MS, 'it is slow');
  assert.ok(calls.length < 400, `${calls.length} calls`);
});

test('where others may be asked for, too, all of which are refused, a batch ends after twenty items without a wait', async () => {
  const others = questions(1_000).slice(-20);
  const { caller, calls, clock } = calling({ refuse: () => refusal(400), maxItems: 500, others });
  const startedMs = clock.monotonicMs();
  await assert.rejects(ask(caller, 'daily', questions(100), forever), {
    code: 'PROVIDER_REFUSED',
    message: /20 products in a row refused, and 20 others; expected one that is answered: status 400/,
  });
  assert.ok(calls.length < 80, `${calls.length} calls`);
  assert.ok(clock.monotonicMs() - startedMs < MINUTE_MS);
});

test('where others are answered, any number of refused neighbours are to blame, first in a batch or not, without a wait', async () => {
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
  const { outcomes } = await ask(caller, 'daily', questions(100), forever);
  assert.equal(outcomes.filter(({ kind }) => kind === 'prices').length, 1);
});

test('others that fail, and are not refused, end no batch: the refused items wait until it is known', async () => {
  let outages = 0;
  const { caller, clock } = calling({
    refuse: (asked) => {
      if (!has(asked, 'other')) return refusal(400);
      return ++outages <= 3 ? refusal(503) : null;
    },
    maxItems: 100,
    others: [{ instrumentId: '7', isin: 'other' }],
  });
  const startedMs = clock.monotonicMs();
  const { outcomes } = await ask(caller, 'daily', questions(30), forever);
  assert.ok(outcomes.every(({ kind }) => kind === 'refused'));
  assert.equal(outages, 4);
  assert.ok(clock.monotonicMs() - startedMs > MINUTE_MS);
});

test('when no answer fits, every item has its outcome after few calls and without a pause', async () => {
  const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');
  const { caller, calls, clock } = calling({ refuse: () => misfit, maxItems: 500 });
  const startedMs = clock.monotonicMs();
  for (const count of [119, 500]) {
    calls.length = 0;
    const { outcomes } = await ask(caller, 'overview', questions(count), forever);
    assert.deepEqual(
      outcomes,
      Array.from({ length: count }, () => ({ kind: 'refused', status: null })),
    );
    assert.ok(calls.length <= 70, `${calls.length} calls`);
  }
  assert.ok(clock.monotonicMs() - startedMs < MINUTE_MS);
});

test('many items whose answers never fit cost only their neighbours in a row anything', async () => {
  const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');
  const bad = Array.from({ length: 19 }, (_, at) => `isin-${at}`);
  const { caller } = calling({ refuse: (asked) => (has(asked, ...bad, 'isin-300') ? misfit : null) });
  const { outcomes } = await ask(caller, 'overview', questions(500), forever);
  assert.equal(outcomes.filter(({ kind }) => kind === 'prices').length, 480);
});

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

test('a refusal that passes teaches nothing about the size, where larger batches were answered; one that stays does', async () => {
  let isRefused = (_asked: readonly unknown[], call: number): boolean => call === 2;
  const { caller, calls } = calling({ refuse: (asked, call) => (isRefused(asked, call) ? refusal(400) : null) });
  await ask(caller, 'overview', questions(1_000), forever);
  await ask(caller, 'overview', questions(2), forever);
  assert.deepEqual([calls, caller.maxItems('overview')], [[1_000, 2, 1, 1], 1_000]);
  isRefused = (asked) => asked.length > 300;
  for (let round = 0; round < 3; round++) await ask(caller, 'overview', questions(1_000), forever);
  assert.equal(caller.maxItems('overview'), 250);
});
