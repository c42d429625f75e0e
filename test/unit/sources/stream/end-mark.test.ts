import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndSeen, markAt, markFurther } from '../../../../src/sources/stream/end-mark.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import { drive, event, time } from '../core/driven-core.ts';
import { CHECKS, EVENTS, offsetAt, Scene } from '../core/follower-scene.ts';

const MINUTE_MS = 60_000;
const ANSWER_MS = 200;

/** A log to which something is added all the time, and whose answers name only their own newest offset. */
interface Log {
  readonly perSecond: number;
  readonly perAnswer: number;
  /** How much older the list is than the log. */
  readonly listLagMs?: number;
  /** How far behind the log the source begins. */
  readonly behindMs?: number;
}
const KEPT_UP: Log = { perSecond: 20, perAnswer: 1_000 };
const TOO_FAST: Log = { perSecond: 2_000, perAnswer: 100 };

/** One source, however it is driven. */
interface Source {
  nowMs: number;
  next(): { readonly kind: string; readonly ms?: number };
  since(): string;
  stream(items: number, next: string): void;
  start(since: string): void;
  isCaughtUp(): boolean;
}

/** Lets a source live: whether it had caught up at the end of each minute, and how often it asked for a fresh start. */
function live(source: Source, log: Log | ((minute: number) => Log), minutes: number) {
  const beganMs = source.nowMs;
  const now = () => (typeof log === 'function' ? log((source.nowMs - beganMs) / MINUTE_MS) : log);
  let [added, lookedMs] = [((now().behindMs ?? 0) / 1_000) * now().perSecond, beganMs];
  const newest = () => {
    added += ((source.nowMs - lookedMs) / 1_000) * now().perSecond;
    lookedMs = source.nowMs;
    return 1_000 + Math.floor(added);
  };
  const caughtUp: boolean[] = [];
  let starts = 0;
  while (source.nowMs - beganMs < minutes * MINUTE_MS) {
    const wanted = source.next();
    if (wanted.kind === 'wait') {
      source.nowMs += wanted.ms ?? 0;
      continue;
    }
    source.nowMs += ANSWER_MS;
    if (wanted.kind === 'start') {
      starts += 1;
      source.start(`${Math.max(1, newest() - ((now().listLagMs ?? 0) / 1_000) * now().perSecond)}-1`);
      continue;
    }
    const from = Number(source.since().split('-')[0]);
    const to = Math.min(newest(), from + now().perAnswer);
    source.stream(to - from, `${to}-1`);
    caughtUp[Math.floor((source.nowMs - beganMs) / MINUTE_MS)] = source.isCaughtUp();
  }
  return { caughtUp: caughtUp.slice(0, minutes), starts };
}

function instruments(driven = drive({ since: '1000-1' })): Source {
  return {
    get nowMs() {
      return driven.ms;
    },
    set nowMs(ms) {
      driven.ms = ms;
    },
    next: driven.next,
    since: () => driven.core.offset?.since ?? '',
    stream(items, next) {
      const events = Array.from({ length: items }, (_, at) => event(at));
      driven.answer({ kind: 'stream', events, next, nextId: next, time: time(driven.ms) });
    },
    start: (since) => void driven.answer({ kind: 'start', since, time: time(driven.ms) }),
    isCaughtUp: () => driven.core.isCaughtUp,
  };
}

function follower(settings: typeof EVENTS): Source {
  const scene = new Scene(settings, offsetAt(settings, '1000-1'));
  return {
    get nowMs() {
      return scene.nowMs;
    },
    set nowMs(ms) {
      scene.pass(ms - scene.nowMs);
    },
    next: () => scene.next(),
    since: () => scene.core.offset?.since ?? '',
    stream: (items, next) => scene.answer({ items, next, nextId: next }).committed(),
    start: (since) => scene.answer({ kind: 'start', since }).committed(),
    isCaughtUp: () => scene.core.isCaughtUp,
  };
}

for (const [what, source] of [
  ['an instruments source', instruments],
  ['an events source', () => follower(EVENTS)],
] as const) {
  test(`${what} whose stream never pauses has caught up once it has read to a fresh start of the list`, () => {
    const { caughtUp, starts } = live(source(), KEPT_UP, 20);
    assert.deepEqual(caughtUp.slice(0, 1), [false], 'no answer has shown the end');
    assert.deepEqual(new Set(caughtUp.slice(2)), new Set([true]));
    assert.ok(starts >= 18 && starts <= 20, `the list was asked ${starts} times in 20 minutes`);
  });

  test(`${what} that reads more slowly than events come is never shown as caught up`, () => {
    const { caughtUp, starts } = live(source(), TOO_FAST, 20);
    assert.deepEqual(new Set(caughtUp), new Set([false]));
    assert.ok(starts >= 1 && starts <= 20);
  });

  test(`${what} that is behind is not shown as caught up by a list that lags by more`, () => {
    const log = { perSecond: 20, perAnswer: 4, listLagMs: 10 * MINUTE_MS, behindMs: 6 * MINUTE_MS };
    const { caughtUp, starts } = live(source(), log, 20);
    assert.deepEqual(new Set(caughtUp), new Set([false]));
    assert.ok(starts >= 18 && starts <= 20, `the list was asked ${starts} times in 20 minutes`);
  });

  test(`${what} that has caught up is shown so where the list lags by seconds`, () => {
    const { caughtUp } = live(source(), { ...KEPT_UP, listLagMs: 5_000 }, 20);
    assert.deepEqual(new Set(caughtUp.slice(2)), new Set([true]));
  });

  test(`a list that begins to lag no longer shows ${what} as caught up`, () => {
    const { caughtUp } = live(source(), (minute) => ({ ...KEPT_UP, listLagMs: minute < 5 ? 0 : 10 * MINUTE_MS }), 20);
    assert.equal(caughtUp[4], true);
    assert.deepEqual(new Set(caughtUp.slice(8)), new Set([false]));
  });
}

test('a walk that waits for the list leaves an instruments source shown as caught up', () => {
  const driven = drive({ since: '1000-1', walkPending: true }, { handoffMarginMs: 40 * MINUTE_MS });
  driven.stream();
  driven.answer({ kind: 'census', census: new Census() });
  const { caughtUp } = live(instruments(driven), KEPT_UP, 20);
  assert.equal(driven.core.phase, 'margin');
  assert.deepEqual(new Set(caughtUp.slice(2)), new Set([true]));
});

test('what was seen does not last: a source that falls behind is shown so within two minutes', () => {
  const source = instruments();
  const { caughtUp } = live(source, (minute) => (minute < 5 ? KEPT_UP : TOO_FAST), 20);
  assert.equal(caughtUp[4], true);
  assert.deepEqual(new Set(caughtUp.slice(8)), new Set([false]));
});

test('pre-trade checks have no list that could say where their stream ends: nothing is asked for', () => {
  const { caughtUp, starts } = live(follower(CHECKS), KEPT_UP, 5);
  assert.deepEqual([new Set(caughtUp), starts], [new Set([false]), 0]);
});

test('what a list that takes long has shown counts from when it was asked', () => {
  const driven = drive({ since: '1000-1' });
  let newest = 1_000;
  const readUntil = (ms: number) => {
    while (driven.ms < ms) {
      driven.ms += 1_000;
      newest += 1;
      const next = `${newest}-1`;
      driven.answer({ kind: 'stream', events: [event(1)], next, nextId: next, time: time(driven.ms) });
    }
  };
  readUntil(70_000);
  assert.equal(driven.next().kind, 'start');
  const [askedMs, since] = [driven.ms, `${newest + 10}-1`];
  readUntil(askedMs + 50_000);
  driven.answer({ kind: 'start', since, time: time(driven.ms), askedMs });
  readUntil(askedMs + 2 * MINUTE_MS);
  assert.equal(driven.core.isCaughtUp, true);
  readUntil(askedMs + 2 * MINUTE_MS + 2_000);
  assert.equal(driven.core.isCaughtUp, false);
});

test('a fresh start that shows a lag takes back at once what an earlier one has shown', () => {
  const begun = markFurther(null, '1000-1', 0);
  const asked = markAt(begun, { since: '1500-1', ours: '1400-1', askedMs: MINUTE_MS });
  const reached = markFurther(asked, '1500-1', MINUTE_MS + 1_000);
  assert.equal(isEndSeen(reached, 2 * MINUTE_MS), true);
  const lagging = markAt(reached, { since: '1300-1', ours: '1900-1', askedMs: 2 * MINUTE_MS });
  assert.equal(isEndSeen(lagging, 2 * MINUTE_MS), false);
});
