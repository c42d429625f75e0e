import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { HeldBackSources } from '../../../src/sources/held-back-sources.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { operator } from '../../support/connectors/operator.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';

const { signal } = new AbortController();
const unsure = { isCertain: false };

/** One source, `a`, that is held back over a clock that is moved by hand. */
function holding(verifyStart?: (source: string, signal: AbortSignal) => Promise<void>) {
  const clock = new SteppedClock();
  const asking = operator(['a']);
  const target = (source: string) => asking.targets.of(source);
  const held = new HeldBackSources<string>({ clock, random: () => 1, target, verifyStart });
  let isFree = false;
  const waits = () => {
    isFree = false;
    held.untilFree('a', signal).then(() => {
      isFree = true;
    });
  };
  return { clock, asking, held, waits, isFree: () => isFree };
}

test('a source is held back from its second failure on, each time for longer, at most for a minute', async () => {
  const { clock, held, waits, isFree } = holding();
  held.failed('a', unsure);
  assert.equal(held.isHeld('a'), false);
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    held.failed('a', unsure);
    waits();
    await clock.advance(seconds * 1_000 - 1);
    assert.deepEqual([held.isHeld('a'), isFree()], [true, false], `${seconds} s`);
    await clock.advance(1);
    assert.deepEqual([held.isHeld('a'), isFree()], [false, true], `${seconds} s`);
  }
});

test('a failure that can be nobody else’s holds the source back at once, and an old one is forgotten', async () => {
  const { clock, held, waits, isFree } = holding();
  held.failed('a', { isCertain: true });
  assert.equal(held.isHeld('a'), true);
  waits();
  await clock.advance(1_000);
  assert.equal(isFree(), true);
  await clock.advance(120_000);
  held.failed('a', unsure);
  assert.equal(held.isHeld('a'), false);
});

test('a source that is held back takes part again only when its topics take records', async () => {
  let takes = false;
  let verifications = 0;
  const { clock, held, waits, isFree } = holding(async () => {
    verifications += 1;
    if (!takes) throw new Error('no leader');
  });
  held.failed('a', { isCertain: true });
  waits();
  await clock.advance(1_000);
  assert.deepEqual([verifications, isFree()], [1, false]);
  takes = true;
  await clock.advance(1_999);
  assert.deepEqual([verifications, isFree()], [1, false], 'a verification that failed counts as a failure');
  await clock.advance(1);
  assert.deepEqual([verifications, isFree()], [2, true]);
});

test('a verification that says what no repetition corrects ends the wait with it', async () => {
  const refused = new ConnectorError('TOPIC_REFUSED', 'no rights');
  const { clock, held } = holding(() => Promise.reject(refused));
  held.failed('a', { isCertain: true });
  const freed = assert.rejects(held.untilFree('a', signal), refused);
  await clock.advance(1_000);
  await freed;
  assert.equal(held.isHeld('a'), false);
});

test('an operator who lets it start again frees it at once', async () => {
  const { clock, asking, held, waits, isFree } = holding();
  for (let times = 0; times < 9; times++) held.failed('a', unsure);
  waits();
  await clock.advance(1_000);
  assert.equal(isFree(), false);
  asking.restarts('a');
  await clock.advance(0);
  assert.deepEqual([held.isHeld('a'), isFree(), clock.sleeping], [false, true, 0]);
});

test('another wish of the operator ends the verification too, and it begins again at once', async () => {
  const verifications: AbortSignal[] = [];
  const { clock, asking, held, waits } = holding((_source, ending) => {
    verifications.push(ending);
    return untilAborted(new Promise<never>(() => {}), ending);
  });
  held.failed('a', { isCertain: true });
  waits();
  await clock.advance(1_000);
  asking.wants('a', { state: 'paused' });
  await clock.advance(0);
  assert.deepEqual([held.isHeld('a'), verifications.length, verifications[1]?.aborted], [true, 2, false]);
});
