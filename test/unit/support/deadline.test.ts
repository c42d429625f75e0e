import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDeadline, within } from '../../../src/support/deadline.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { SteppedClock, settle } from '../kafka/stepped-clock.ts';

const never = () => new Promise<never>(() => {});
const late = () => new Error('late');

test('work that ends in time gives its outcome and leaves no timer', async () => {
  const clock = new SteppedClock();
  assert.equal(await within(Promise.resolve(1), 100, clock, late), 1);
  await assert.rejects(within(Promise.reject(new Error('own')), 100, clock, late), /own/);
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('work that hangs is left behind at its time, and its own later failure harms nobody', async () => {
  const clock = new SteppedClock();
  const work = Promise.withResolvers<void>();
  const waiting = assert.rejects(within(work.promise, 100, clock, late), /late/);
  await clock.advance(100);
  await waiting;
  work.reject(new Error('nobody listens'));
  await settle();
});

test('an aborted signal ends the wait with its reason, also when it was aborted before', async () => {
  const controller = new AbortController();
  const waiting = untilAborted(never(), controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(untilAborted(never(), controller.signal), /enough/);
});

test('the signal of a deadline aborts at its time, or with the reason of the outer one', async () => {
  const clock = new SteppedClock();
  const late = openDeadline(100, clock, () => new Error('late'));
  await clock.advance(99);
  assert.equal(late.signal.aborted, false);
  await clock.advance(1);
  assert.match(String(late.signal.reason), /late/);
  const outer = new AbortController();
  const stopped = openDeadline(100, clock, () => new Error('late'), { outer: outer.signal });
  outer.abort(new Error('stop'));
  assert.match(String(stopped.signal.reason), /stop/);
  const before = openDeadline(100, clock, () => new Error('late'), { outer: outer.signal });
  assert.match(String(before.signal.reason), /stop/);
  stopped.end();
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('a deadline from a signal counts only after its abort, and not after its end', async () => {
  const clock = new SteppedClock();
  const stop = new AbortController();
  const deadline = openDeadline(100, clock, () => new Error('late'), { from: stop.signal });
  await clock.advance(1_000);
  assert.equal(deadline.signal.aborted, false);
  stop.abort();
  await clock.advance(99);
  assert.equal(deadline.signal.aborted, false);
  await clock.advance(1);
  assert.match(String(deadline.signal.reason), /late/);
  const inTime = openDeadline(100, clock, () => new Error('late'), { from: AbortSignal.abort() });
  assert.equal(clock.sleeping, 1, 'a stop that was requested before counts too');
  inTime.end();
  await settle();
  assert.equal(clock.sleeping, 0);
  assert.equal(inTime.signal.aborted, false);
});
