import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { type FailedAttempt, type RetryOptions, retry } from '../../../src/support/retry.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const busy = (retryAfterMs?: number) => new ConnectorError('PROVIDER_BUSY', 'Busy.', { retryAfterMs });

function scene(answers: readonly (Error | string)[], given: Partial<RetryOptions> = {}) {
  const clock = skippingClock();
  const failed: FailedAttempt[] = [];
  const left = [...answers];
  const attempt = async () => {
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const backOff = { initialMs: 100, maximumMs: 300 };
  const attemptFailed = (one: FailedAttempt) => void failed.push(one);
  const run = () => retry(attempt, { backOff, attemptFailed, clock, random: () => 1, ...given });
  return { clock, failed, left, run };
}

test('what passes is tried until it succeeds, with a growing wait that is reported', async () => {
  const { clock, failed, run } = scene([busy(), busy(), busy(), busy(), 'done']);
  assert.equal(await run(), 'done');
  assert.deepEqual(clock.sleepsMs, [100, 200, 300, 300]);
  assert.deepEqual(
    failed.map(({ failures, waitMs }) => [failures, waitMs]),
    [
      [1, 100],
      [2, 200],
      [3, 300],
      [4, 300],
    ],
  );
});

test('a refusal that only an operator can end is repeated after longer waits', async () => {
  const refused = new ConnectorError('REGISTRY_REFUSED', 'Refused.');
  const { clock, run } = scene([refused, busy(), refused, 'done'], { mayRetry: () => true });
  assert.equal(await run(), 'done');
  assert.deepEqual(clock.sleepsMs, [10_000, 200, 40_000]);
});

test('an error that no repetition mends, and the last of the attempts, is thrown as it is', async () => {
  const wrong = new ConnectorError('SETTINGS_INVALID', 'Wrong.');
  await assert.rejects(scene([busy(), wrong, 'never']).run(), wrong);
  await assert.rejects(scene([new Error('unknown'), 'never']).run(), /unknown/);
  const limited = scene([busy(), busy(), 'never'], { attempts: 2 });
  await assert.rejects(limited.run(), { code: 'PROVIDER_BUSY' });
  assert.deepEqual(limited.clock.sleepsMs, [100]);
  assert.deepEqual(limited.left, ['never']);
});

test('the caller decides which errors pass', async () => {
  const { run } = scene([new Error('odd'), 'done'], { mayRetry: (error) => /odd/.test(String(error)) });
  assert.equal(await run(), 'done');
});

test('an error that asks for a longer wait gets it', async () => {
  const { clock, run } = scene([busy(5_000), busy(10), 'done']);
  await run();
  assert.deepEqual(clock.sleepsMs, [5_000, 200]);
});

test('a stop ends the attempts with its reason', async () => {
  const stop = new AbortController();
  const attemptFailed = () => stop.abort(new Error('stopped'));
  await assert.rejects(scene([busy(), 'never'], { attemptFailed, signal: stop.signal }).run(), /stopped/);
});

test('after an attempt that lasted long the failures are counted from one again', async () => {
  const clock = skippingClock();
  let attempts = 0;
  const slow = async () => {
    attempts += 1;
    if (attempts === 3) await clock.sleep(1_001);
    if (attempts <= 3) throw busy();
  };
  const backOff = { initialMs: 100, maximumMs: 1_000 };
  await retry(slow, { backOff, forgetAfterMs: 1_000, clock, random: () => 1 });
  assert.deepEqual(clock.sleepsMs, [100, 200, 1_001, 100]);
});
