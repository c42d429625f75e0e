import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Census } from '../../../../src/sources/walk/census.ts';
import { drive, event, time } from './driven-core.ts';

/** Between two walks: what is asked for next is only the stream, when its time has come. */
function idle(walkRequest: string | null = null) {
  const source = drive({ walkRequest });
  source.stream();
  assert.equal(source.next().kind, 'wait');
  return source;
}

test('a walk that is asked for begins with an answer of the stream, for which nothing is waited', () => {
  const source = idle();
  source.core.requestWalk({ id: 'a', allowShrink: 7 });
  const { begun, offset } = source.stream();
  assert.deepEqual([begun, offset?.walkRequest, offset?.walkAllowShrink], ['requested', 'a', 7]);
  assert.equal(source.core.phase, 'census');
});

test('a request during a walk waits for its end, and asks the stream no more than once', () => {
  const source = idle();
  const { core } = source;
  core.requestWalk({ id: 'a', allowShrink: null });
  source.stream();
  source.answer({ kind: 'census', census: new Census() });
  source.stream();
  assert.deepEqual([core.phase, source.next().kind], ['margin', 'wait']);
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.equal(source.stream().begun, null);
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.deepEqual([core.phase, source.next().kind], ['margin', 'wait']);
});

test('a request that was served, in this life or an earlier one, is not served again', () => {
  const { core, next } = idle('a');
  core.requestWalk({ id: 'a', allowShrink: null });
  assert.equal(next().kind, 'wait');
});

test('a request from before the first offset is served by the first walk, without what it allowed', () => {
  const { core, answer } = drive(null);
  core.requestWalk({ id: 'old', allowShrink: 100_000 });
  const { offset } = answer({ kind: 'start', since: '5-0', time: time(0) });
  assert.deepEqual([offset?.walkRequest, offset?.walkAllowShrink], ['old', null]);
});

test('a request that comes while an answer is being committed is kept', () => {
  const source = idle();
  source.ms = 30_000;
  const answer = { kind: 'stream', events: [event(1)], next: '6-0', nextId: '6-0', time: time(30_000) } as const;
  const decision = source.core.answered(answer, source.ms);
  source.core.requestWalk({ id: 'a', allowShrink: null });
  decision.committed();
  assert.equal(source.stream([], '6-0').begun, 'requested');
});
