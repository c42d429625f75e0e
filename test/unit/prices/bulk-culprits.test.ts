import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { ask, calling, forever, has, MINUTE_MS, questions, refusal } from './bulk-calling.ts';

const ANSWER_MS = 100;
/** An interval of a minute leaves half a minute until something is overdue. */
const IN_TIME_MS = 30_000;
const HOUR_MS = 60 * MINUTE_MS;
const FOREVER_MS = 24 * HOUR_MS;
const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');
const reset = new ConnectorError('PROVIDER_UNREACHABLE', 'reset before headers');

for (const [how, error] of [
  ['hangs', null],
  ['is reset', reset],
  ['does not fit', misfit],
  ['has no JSON', new ConnectorError('BODY_MALFORMED', 'no JSON')],
  ['gets 400', refusal(400)],
  ['gets 403', refusal(403)],
  ['gets 503', refusal(503)],
] as const) {
  for (const culprit of [0, 217, 499]) {
    test(`item ${culprit} of 500 whose call ${how} is found in time by 20 more calls, with nothing else to ask`, async () => {
      const clock = new SteppedClock();
      const { caller, calls } = calling({
        clock,
        refuse: (asked) => (has(asked, `isin-${culprit}`) ? error : null),
        takesMs: (asked) => (error === null && has(asked, `isin-${culprit}`) ? FOREVER_MS : ANSWER_MS),
      });
      const answered = ask(caller, 'overview', questions(500), forever);
      await clock.advance(10_000 + IN_TIME_MS);
      const { outcomes } = await answered;
      const { status = null } = error?.fields ?? {};
      const code = error?.code ?? 'PROVIDER_TIMEOUT';
      for (const [at, outcome] of outcomes.entries()) {
        if (at === culprit) assert.deepEqual(outcome, { kind: 'refused', status, code });
        else assert.equal(outcome.kind === 'prices' && String(outcome.records[0]?.value), `isin-${at}`);
      }
      assert.ok(calls.length <= 21, `${calls.length} calls`);
      assert.equal(caller.maxItems('overview'), 1_000, 'nothing is learnt from it about the size of a call');

      calls.length = 0;
      const again = ask(caller, 'overview', questions(500), forever);
      await clock.advance(IN_TIME_MS);
      await again;
      assert.deepEqual(calls.sort(), [1, 499], 'it is known, and asked alone');
    });
  }
}

for (const status of [400, 401, 403, 404, 408, 429, 500, 503]) {
  test(`while every call gets ${status}, one at a time asks for one item, and nothing is divided; then all is repeated`, async () => {
    const clock = new SteppedClock();
    let isDown = true;
    const { caller, calls, seen } = calling({
      clock,
      refuse: () => (isDown ? refusal(status) : null),
      takesMs: () => ANSWER_MS,
    });
    const asked = Array.from({ length: 6 }, () => ask(caller, 'overview', questions(400), forever));
    await clock.advance(MINUTE_MS);
    assert.deepEqual(calls.splice(0, 6), [400, 400, 400, 400, 400, 400].slice(0, 6));
    // Refused credentials are tried seldom, because many attempts could lock the account.
    const [least, most] = status === 401 ? [1, 5] : [5, 12];
    assert.ok(calls.length >= least && calls.length <= most && calls.every((items) => items === 1), `${calls}`);
    calls.length = 0;
    await clock.advance(HOUR_MS);
    assert.ok(calls.length <= (status === 401 ? 24 : 3 * 60), `${calls.length} calls in an hour`);
    isDown = false;
    await clock.advance(5 * MINUTE_MS);
    for (const { outcomes } of await Promise.all(asked)) assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    const bisected = seen.filter(({ name }) => name === 'batchBisected');
    assert.deepEqual(bisected, []);
  });
}

test('while the login is refused, new questions cause no calls of their own', async () => {
  const clock = new SteppedClock();
  let isDown = true;
  const { caller, calls } = calling({ clock, refuse: () => (isDown ? refusal(401) : null), takesMs: () => ANSWER_MS });
  const asked: ReturnType<typeof ask>[] = [];
  for (let second = 0; second < 3_600; second++) {
    asked.push(ask(caller, 'overview', questions(1, second), forever));
    await clock.advance(1_000);
  }
  assert.ok(calls.length < 120, `${calls.length} calls for 3,600 questions in an hour`);
  isDown = false;
  await clock.advance(5 * MINUTE_MS);
  for (const { outcomes } of await Promise.all(asked)) assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
});

test('24 batches that are asked to come back in an hour come back in an hour, whole', async () => {
  for (const status of [429, 503]) {
    const clock = new SteppedClock();
    const error = new ConnectorError('PROVIDER_BUSY', 'later', { fields: { status }, retryAfterMs: HOUR_MS });
    const { caller, calls, seen } = calling({
      clock,
      concurrency: 24,
      refuse: () => (clock.monotonicMs() < HOUR_MS ? error : null),
      takesMs: () => ANSWER_MS,
    });
    const asked = Array.from({ length: 24 }, () => ask(caller, 'overview', questions(100), forever));
    await clock.advance(HOUR_MS);
    const whole = Array.from({ length: 24 }, () => 100);
    assert.deepEqual(calls.splice(0), whole, 'each was asked once in the hour');
    await clock.advance(MINUTE_MS);
    for (const { outcomes } of await Promise.all(asked)) assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.equal(calls.length, 25, 'one asks whether it is over');
    const bisected = seen.filter(({ name }) => name === 'batchBisected');
    assert.deepEqual(bisected, []);
  }
});

test('an answer to a call that was in flight when all begins to fail blames nobody', async () => {
  const clock = new SteppedClock();
  const { caller } = calling({
    clock,
    refuse: ([, other]) => (other === undefined && clock.monotonicMs() < MINUTE_MS ? refusal(500) : null),
    takesMs: (asked) => ANSWER_MS * asked.length,
  });
  const asked = [2, 1].map((count) => ask(caller, 'overview', questions(count), forever));
  await clock.advance(2 * MINUTE_MS);
  for (const { outcomes } of await Promise.all(asked)) assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
});

test('calls that are not sent, since their endpoint is closed, say so, and suspect no product', async () => {
  const clock = new SteppedClock();
  const closed = new ConnectorError('PROVIDER_BUSY', 'not sent', {
    fields: { heldBackBy: 429 },
    retryAfterMs: MINUTE_MS,
  });
  const { caller, calls, seen } = calling({
    clock,
    refuse: (_, call) => (call <= 3 ? closed : null),
    takesMs: () => ANSWER_MS,
  });
  const answered = ask(caller, 'overview', questions(100), forever);
  await clock.advance(4 * MINUTE_MS);
  assert.ok((await answered).outcomes.every(({ kind }) => kind === 'prices'));
  assert.deepEqual(calls, [100, 100, 100, 100]);
  const said = (seen as { name: string; fields: Record<string, unknown> }[]).map(({ name, fields }) => {
    return [name, fields.failures, fields.waitMs];
  });
  assert.deepEqual(said, Array(3).fill(['bulkAttemptFailed', 1, MINUTE_MS]));
});

test('a provider that is slow for all is waited for longer, and then no longer divided', async () => {
  for (const takesMs of [(items: number) => 200 + items * 40, () => 12_000]) {
    const clock = new SteppedClock();
    const { caller, calls } = calling({ clock, refuse: () => null, takesMs: (asked) => takesMs(asked.length) });
    for (let round = 0; round < 4; round++) {
      const asked = ask(caller, 'overview', questions(500), forever);
      await clock.advance(3 * MINUTE_MS);
      assert.ok((await asked).outcomes.every(({ kind }) => kind === 'prices'));
    }
    assert.deepEqual(calls.slice(-2), [500, 500]);
  }
});
