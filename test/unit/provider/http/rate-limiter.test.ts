import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRateLimiter } from '../../../../src/provider/http/request-turns.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';

const never = new AbortController().signal;

test('no second sees more than the limit, whatever came before', async () => {
  const clock = skippingClock();
  const limiter = createRateLimiter(5, clock);
  const at: number[] = [];
  const take = async () => {
    await limiter.take(never);
    at.push(clock.monotonicMs());
  };
  for (let n = 0; n < 20; n++) await take();
  await clock.sleep(60_000);
  for (let n = 0; n < 20; n++) await take();
  for (const start of at) {
    const within = at.filter((ms) => start <= ms && ms < start + 1_000).length;
    assert.ok(within <= 5, `${within} in one second`);
  }
});

test('no second sees more than the limit, also when the process stood still while many waited', async () => {
  const clock = skippingClock();
  let isStanding = false;
  const sleep = async (ms: number, signal?: AbortSignal) => {
    await clock.sleep(isStanding ? 3_000 : ms, signal);
    isStanding = false;
  };
  const limiter = createRateLimiter(5, { ...clock, sleep });
  const at: number[] = [];
  const take = async () => {
    await limiter.take(never);
    at.push(clock.monotonicMs());
  };
  await take();
  isStanding = true;
  await Promise.all(Array.from({ length: 30 }, take));
  for (const start of at) {
    const within = at.filter((ms) => start <= ms && ms < start + 1_000).length;
    assert.ok(within <= 5, `${within} in one second`);
  }
});

test('callers that give up cost the others no time, and keep their order', async () => {
  const clock = skippingClock();
  const limiter = createRateLimiter(10, clock);
  await limiter.take(never);
  const leaving = new AbortController();
  const order: string[] = [];
  const take = async (name: string, signal: AbortSignal) => {
    await limiter.take(signal);
    order.push(name);
  };
  const startedMs = clock.monotonicMs();
  const first = take('first', never);
  const left = Array.from({ length: 50 }, () => assert.rejects(limiter.take(leaving.signal), /enough/));
  const second = take('second', never);
  leaving.abort(new Error('enough'));
  await Promise.all([first, ...left, second]);
  assert.deepEqual(order, ['first', 'second']);
  assert.equal(clock.monotonicMs() - startedMs, 200);
});

test('a waiting caller that aborts gets its own reason at once', async () => {
  const limiter = createRateLimiter(0.01, systemClock);
  await limiter.take(never);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('stop')), 20);
  await assert.rejects(limiter.take(controller.signal), /stop/);
  await assert.rejects(limiter.take(AbortSignal.abort(new Error('before'))), /before/);
});
