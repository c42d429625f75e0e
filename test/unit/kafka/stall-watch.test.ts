import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StallWatch } from '../../../src/kafka/stall-watch.ts';
import { SteppedClock, settle } from './stepped-clock.ts';

test('a watch aborts only when nothing has moved for the whole time', async () => {
  const clock = new SteppedClock();
  const watch = new StallWatch(1_000, clock);
  await clock.advance(900);
  watch.moved();
  await clock.advance(900);
  assert.equal(watch.signal.aborted, false);
  await clock.advance(100);
  assert.equal(watch.signal.aborted, true);
  assert.match(String(watch.signal.reason), /nothing came for 1000 ms/);
});

test('an ended watch neither aborts nor keeps a timer', async () => {
  const clock = new SteppedClock();
  const watch = new StallWatch(1_000, clock);
  watch.end();
  await settle();
  assert.equal(clock.sleeping, 0);
  await clock.advance(2_000);
  assert.equal(watch.signal.aborted, false);
});
