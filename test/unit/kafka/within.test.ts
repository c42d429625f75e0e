import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../../src/kafka/within.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { SteppedClock, settle } from './stepped-clock.ts';

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
