import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { HeldBackSources } from '../../../src/sources/held-back-sources.ts';
import type { FailedAttempt } from '../../../src/support/retry.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import type { UnitTopics } from '../../../src/worker/run-states.ts';
import { operator } from '../../support/connectors/operator.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { broker, counted, countingSource, run, written } from './counting-sources.ts';

const { signal } = new AbortController();
const err = new Error('the commit failed');
const unsure = { isCertain: false, err };
const certain = { isCertain: true, err };

/** One source, `a`, that is held back over a clock that is moved by hand. */
function holding(verifyStart?: (source: string, signal: AbortSignal) => Promise<void>) {
  const clock = new SteppedClock();
  const asking = operator(['a']);
  const target = (source: string) => asking.targets.of(source);
  const waitsMs: number[] = [];
  const onHeld = (_: string, failed: FailedAttempt) => void waitsMs.push(failed.waitMs);
  const held = new HeldBackSources<string>({ clock, random: () => 1, target, onHeld, verifyStart });
  let isFree = false;
  const waits = () => {
    isFree = false;
    held.untilFree('a', signal).then(() => {
      isFree = true;
    });
  };
  return { clock, asking, held, waits, waitsMs, isFree: () => isFree };
}

test('a source is held back from its second failure on, each time for longer, at most for a minute', async () => {
  const { clock, held, waits, waitsMs, isFree } = holding();
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
  assert.deepEqual(
    waitsMs,
    [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    'each wait is reported',
  );
});

test('a failure that can be nobody else’s holds the source back at once, and an old one is forgotten', async () => {
  const { clock, held, waits, isFree } = holding();
  held.failed('a', certain);
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
  held.failed('a', certain);
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
  held.failed('a', certain);
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
  held.failed('a', certain);
  waits();
  await clock.advance(1_000);
  asking.wants('a', { state: 'paused' });
  await clock.advance(0);
  assert.deepEqual([held.isHeld('a'), verifications.length, verifications[1]?.aborted], [true, 2, false]);
});

/** The topics of `bad` are refused with this until it is taken away. */
function refusing(error: ConnectorError) {
  const is = { refused: true, asked: 0 };
  const topics: UnitTopics<{ readonly name: string }> = {
    areVerified: ({ name }) => name !== 'bad' || !is.refused,
    async verify() {
      is.asked += 1;
      if (is.refused) throw error;
    },
    doubt: () => assert.fail('no topic is replaced'),
  };
  return { is, topics };
}

test('an operator who has mended the topic lets the source start again, and it is verified first', async (t) => {
  const memory = broker();
  const { is, topics } = refusing(new ConnectorError('TOPIC_MISSING', 'it is not there'));
  const asking = operator(['bad']);
  const { count, stop } = run(memory, [countingSource('bad')], { asking, topics });
  t.after(() => stop.abort(new Error('the test has ended')));
  const failures = () => count('sourceFailed');
  await eventually('it has failed', failures, (times) => times === 1);
  asking.restarts('bad');
  await eventually('it has failed again, as nothing was mended', failures, (times) => times === 2);
  assert.deepEqual(written(memory, 'bad'), []);
  is.refused = false;
  asking.restarts('bad');
  const ofBad = () => written(memory, 'bad').length;
  await eventually('it writes', ofBad, (rows) => rows === counted.length);
});

test('a source whose topics cannot be looked at is tried again, apart from the others', async () => {
  const memory = broker();
  const { is, topics } = refusing(new ConnectorError('KAFKA_UNREACHABLE', 'no leader'));
  const { ended, failures, all } = run(memory, [countingSource('bad'), countingSource('good')], {
    topics: {
      ...topics,
      async verify(source, signal) {
        if (written(memory, 'good').length === counted.length && is.asked > 3) is.refused = false;
        await topics.verify(source, signal);
      },
    },
  });
  assert.deepEqual(await ended, ['bad', 'good']);
  assert.deepEqual([written(memory, 'bad'), written(memory, 'good')], [counted, counted]);
  const attempts = all('attemptFailed').map(({ source, err }) => `${source}: ${err.code}`);
  assert.deepEqual(new Set(attempts), new Set(['bad: KAFKA_UNREACHABLE']));
  const codes = failures().map(([, { code }]) => code);
  assert.deepEqual(codes, ['WALK_CURSOR_REPEATED', 'WALK_CURSOR_REPEATED']);
});

test('a topic that is replaced ends the session: its sources verify it, and begin again with the new id', async (t) => {
  const memory = broker();
  const ids = { now: 'first' };
  const given: unknown[] = [];
  const counting = countingSource('good');
  const source = {
    ...counting,
    startTask(...[offset, topicIds]: Parameters<typeof counting.startTask>) {
      given.push(topicIds.get('p.rows'));
      const task = counting.startTask(offset, topicIds);
      const isIdle = () => written(memory, 'good').length > 3;
      return {
        poll: (signal: AbortSignal) =>
          isIdle() ? untilAborted(new Promise<never>(() => {}), signal) : task.poll(signal),
      };
    },
  };
  const doubted: string[][] = [];
  const { failures, stop } = run(memory, [source], {
    asking: operator(['good']),
    kafka: { topicIds: async () => new Map([['p.rows', ids.now]]) },
    topics: { areVerified: () => true, verify: async () => {}, doubt: (names) => doubted.push([...names]) },
  });
  t.after(() => stop.abort(new Error('the test has ended')));
  const ofGood = () => written(memory, 'good').length;
  await eventually('it writes', ofGood, (rows) => rows > 3);
  ids.now = 'second';
  const begun = () => given.length;
  await eventually('it begins again', begun, (starts) => starts > 1);
  assert.deepEqual([given, doubted], [['first', 'second'], [['p.rows']]]);
  assert.deepEqual(failures(), []);
});
