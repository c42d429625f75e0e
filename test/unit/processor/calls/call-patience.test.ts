import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallPatience } from '../../../../src/processor/call-patience.ts';
import { SteppedClock } from '../../kafka/stepped-clock.ts';

test('patience follows the slowest call of late, in whole milliseconds', async () => {
  const clock = new SteppedClock();
  const patience = new CallPatience(clock);
  assert.equal(patience.ms, 10_000);
  patience.took(20);
  assert.equal(patience.ms, 3_000);
  patience.took(923.691838);
  assert.equal(patience.ms, 3_695);
  patience.stretch();
  assert.equal(patience.ms, 14_780);
  await clock.advance(11 * 60_000);
  patience.took(20);
  assert.equal(patience.ms, 14_780, 'it is not forgotten at once');
  await clock.advance(11 * 60_000);
  patience.took(20);
  assert.equal(patience.ms, 3_000);
});
