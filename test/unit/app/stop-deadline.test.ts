import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStopDeadline, STOP_DEADLINE_MS } from '../../../src/app/stop-deadline.ts';
import type { Clock } from '../../../src/support/clock.ts';

/** A clock whose sleeps end when the test says so. */
function heldClock() {
  const sleeps: { ms: number; end: () => void }[] = [];
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        sleeps.push({ ms, end: resolve });
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  return { clock, sleeps };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('nothing is late before a stop is asked for, and only so long after it', async () => {
  const { clock, sleeps } = heldClock();
  const stop = new AbortController();
  const deadline = createStopDeadline(stop.signal, clock);
  assert.equal(sleeps.length, 0);
  stop.abort();
  assert.deepEqual(
    sleeps.map(({ ms }) => ms),
    [STOP_DEADLINE_MS],
  );
  assert.equal(deadline.signal.aborted, false);
  sleeps[0]?.end();
  await settled();
  assert.equal(deadline.signal.aborted, true);
  assert.match(String(deadline.signal.reason), /took longer than \d+ ms/);
});

test('who is killed after ten seconds has two of them left to end in', () => {
  assert.ok(STOP_DEADLINE_MS <= 8_000, `${STOP_DEADLINE_MS} ms`);
});

test('a stop that ended in time is never late, and leaves no timer behind', async () => {
  const { clock, sleeps } = heldClock();
  const deadline = createStopDeadline(AbortSignal.abort(), clock);
  assert.equal(sleeps.length, 1, 'a stop that was asked for before counts too');
  deadline.end();
  await settled();
  assert.equal(deadline.signal.aborted, false);
});
