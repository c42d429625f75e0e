import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { ask, calling, forever, HTTP_TIMEOUT_MS, has, MINUTE_MS, questions, refusal } from './bulk-calling.ts';

const ITEMS = 500;
const ANSWER_MS = 100;
/** An interval of a minute leaves half a minute until something is overdue. */
const IN_TIME_MS = 30_000;
const HOUR_MS = 60 * MINUTE_MS;
const FOREVER_MS = 24 * HOUR_MS;

for (const [why, takes, error] of [
  ['hangs', FOREVER_MS, null],
  ['makes it fail', ANSWER_MS, refusal(500)],
  ['makes its answer unusable', ANSWER_MS, new ConnectorError('BODY_MALFORMED', 'no JSON')],
] as const) {
  test(`an item of ${ITEMS} that ${why} is found in time, and what is answered is handed on meanwhile`, async () => {
    const clock = new SteppedClock();
    const { caller, calls } = calling({
      clock,
      refuse: (asked) => (has(asked, 'isin-217') ? error : null),
      takesMs: (asked) => (has(asked, 'isin-217') ? takes : ANSWER_MS),
    });
    const answeredAtMs: number[] = [];
    let isFound = false;
    const started = caller.ask(
      { kind: 'overview', questions: questions(ITEMS), isAlone: false },
      (from, { outcomes }) => {
        for (const [at, outcome] of outcomes.entries()) {
          answeredAtMs[from + at] = clock.monotonicMs();
          if (outcome.kind === 'refused') {
            assert.equal(from + at, 217);
            assert.equal(outcome.status, error?.fields.status ?? null);
            isFound = true;
          }
        }
      },
      forever,
    );
    await clock.advance(2 * MINUTE_MS);
    await started;
    assert.ok(isFound);
    assert.ok(Math.max(...answeredAtMs) < IN_TIME_MS, `the last answer came after ${Math.max(...answeredAtMs)} ms`);
    assert.ok(calls.length <= 40, `${calls.length} calls`);
    assert.equal(caller.maxItems('overview'), 1_000, 'nothing is learnt from it about how much may be asked for');
  });
}

test('an item that is known to hang is given up after one short call, and keeps no other waiting', async () => {
  const clock = new SteppedClock();
  const { caller, calls } = calling({
    clock,
    concurrency: 1,
    refuse: () => null,
    takesMs: (asked) => (has(asked, 'isin-0') ? FOREVER_MS : ANSWER_MS),
  });
  const hanging = ask(caller, 'overview', questions(1), forever, true);
  const others = ask(caller, 'overview', questions(20).slice(1), forever);
  await clock.advance(ANSWER_MS);
  assert.equal((await others).outcomes.length, 19);
  await clock.advance(HTTP_TIMEOUT_MS);
  assert.deepEqual((await hanging).outcomes, [{ kind: 'refused', status: null }]);
  assert.equal(calls.filter((items) => items === 1).length, 1);
});

test('a kind that hangs for hours, or is refused, takes no call of another kind', async () => {
  for (const error of [null, refusal(403), refusal(500)]) {
    const clock = new SteppedClock();
    const { caller } = calling({
      clock,
      concurrency: 2,
      refuse: (_, __, kind) => (kind === 'daily' ? error : null),
      takesMs: (_, kind) => (kind === 'daily' && error === null ? FOREVER_MS : ANSWER_MS),
    });
    const stop = new AbortController();
    const daily = Array.from({ length: 8 }, () => ask(caller, 'daily', questions(50), stop.signal));
    for (const one of daily) one.catch(() => {});
    for (let minute = 0; minute < 60; minute++) {
      const overview = ask(caller, 'overview', questions(50), forever);
      await clock.advance(ANSWER_MS);
      assert.ok((await overview).outcomes.every(({ kind }) => kind === 'prices'));
      await clock.advance(MINUTE_MS - ANSWER_MS);
    }
    stop.abort(new Error('the test is over'));
    await Promise.allSettled(daily);
  }
});

test('24 batches that are asked to come back in an hour come back in an hour, whole', async () => {
  const clock = new SteppedClock();
  const busy = new ConnectorError('PROVIDER_BUSY', 'later', { fields: { status: 429 }, retryAfterMs: HOUR_MS });
  for (const status of [429, 503]) {
    const startedMs = clock.monotonicMs();
    const error =
      status === 429
        ? busy
        : new ConnectorError('PROVIDER_BUSY', 'later', { fields: { status }, retryAfterMs: HOUR_MS });
    const { caller, calls, seen } = calling({
      clock,
      refuse: () => (clock.monotonicMs() < startedMs + HOUR_MS ? error : null),
      takesMs: () => ANSWER_MS,
    });
    const asked = Array.from({ length: 24 }, () => ask(caller, 'overview', questions(100), forever));
    await clock.advance(HOUR_MS);
    assert.deepEqual(
      calls,
      Array.from({ length: 24 }, () => 100),
      'each was asked once in the hour',
    );
    await clock.advance(MINUTE_MS);
    for (const { outcomes } of await Promise.all(asked)) assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.equal(seen.filter(({ name }) => name === 'batchBisected').length, 0);
  }
});

test('a provider that is slow for all is waited for longer, and then no longer divided', async () => {
  const clock = new SteppedClock();
  const { caller, calls } = calling({ clock, refuse: () => null, takesMs: (asked) => 200 + asked.length * 40 });
  for (let round = 0; round < 4; round++) {
    const asked = ask(caller, 'overview', questions(ITEMS), forever);
    await clock.advance(2 * MINUTE_MS);
    assert.ok((await asked).outcomes.every(({ kind }) => kind === 'prices'));
  }
  assert.deepEqual(calls.slice(-2), [ITEMS, ITEMS]);
});

test('a single instrument that hangs while others are answered is given up after a while', async () => {
  const clock = new SteppedClock();
  const { caller } = calling({
    clock,
    refuse: () => null,
    takesMs: (asked) => (has(asked, 'isin-0') ? FOREVER_MS : ANSWER_MS),
  });
  const hanging = ask(caller, 'overview', questions(1), forever);
  for (let at = 0; at < 10; at++) {
    const others = ask(caller, 'overview', questions(20).slice(1), forever);
    await clock.advance(10_000);
    await others;
  }
  assert.deepEqual((await hanging).outcomes, [{ kind: 'refused', status: null }]);
});
