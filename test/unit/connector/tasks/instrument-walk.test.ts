import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterPage, afterProbe, nextRequest } from '../../../../src/connector/tasks/instrument-walk.ts';
import type { InstrumentsOffset } from '../../../../src/connector/tasks/instruments-offset.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const at = (dateMs: number) => ({ dateMs, from: 'provider' as const });
const probe = (dateMs: number) => ({ filter: 'scope=all', since: '5-1', time: at(dateMs) });
const page = (next: string | null, dateMs = 1_000) => ({ next, rows: 10, deadLetters: 1, time: at(dateMs) });

function begun(changes: Partial<InstrumentsOffset> = {}): InstrumentsOffset {
  const { offset } = afterProbe(null, probe(1_000), DAY_MS);
  assert.ok(offset);
  return { ...offset, ...changes };
}

test('without a committed offset the stream start is asked for and committed before any row', () => {
  assert.deepEqual(nextRequest(null), { kind: 'probe' });
  const { offset, waitMs } = afterProbe(null, probe(1_000), DAY_MS);
  assert.equal(offset?.since, '5-1');
  assert.equal(offset?.walk, 1);
  assert.equal(offset?.walkPending, true);
  assert.equal(offset?.walkCursor, null);
  assert.equal(waitMs, 0);
});

test('a pending walk asks for the page at its committed cursor, which is what a restart asks for', () => {
  assert.deepEqual(nextRequest(begun()), { kind: 'page', minId: null });
  assert.deepEqual(nextRequest(begun({ walkCursor: '77' })), { kind: 'page', minId: '77' });
});

test('a page moves the cursor, keeps the stream start, and counts', () => {
  const { offset, waitMs } = afterPage(begun({ walkCursor: '10' }), page('20'), DAY_MS);
  assert.equal(offset.walkCursor, '20');
  assert.equal(offset.since, '5-1');
  assert.deepEqual([offset.walkPages, offset.walkRows, offset.walkDeadLetters], [1, 10, 1]);
  assert.equal(waitMs, 0);
});

test('the last page ends the walk, and the next one waits for its interval by the provider clock', () => {
  const { offset, waitMs } = afterPage(begun({ walkCursor: '10' }), page(null, 1_000 + HOUR_MS), DAY_MS);
  assert.equal(offset.walkPending, false);
  assert.equal(offset.walkCursor, null);
  assert.equal(waitMs, 23 * HOUR_MS);
  assert.deepEqual(nextRequest(offset), { kind: 'probe' });
});

test('a restart within the interval commits nothing and waits for what is left of it', () => {
  const done = begun({ walkPending: false });
  const decision = afterProbe(done, probe(1_000 + 2 * HOUR_MS), DAY_MS);
  assert.deepEqual(decision, { offset: null, waitMs: 22 * HOUR_MS });
});

test('after the interval a new walk begins at a new stream start', () => {
  const decision = afterProbe(
    begun({ walkPending: false, walk: 4 }),
    { ...probe(1_000 + DAY_MS), since: '9-9' },
    DAY_MS,
  );
  assert.equal(decision.offset?.walk, 5);
  assert.equal(decision.offset?.since, '9-9');
  assert.equal(decision.offset?.walkRows, 0);
});

test('a clock that was set back a year postpones the walk by one interval at most', () => {
  const decision = afterProbe(begun({ walkPending: false, walkStartedAtMs: 366 * DAY_MS }), probe(1_000), DAY_MS);
  assert.equal(decision.waitMs, DAY_MS);
});

for (const next of ['10', '9', '-1']) {
  test(`a cursor that does not rise from 10 (${next}) stops the source`, () => {
    assert.throws(() => afterPage(begun({ walkCursor: '10' }), page(next), DAY_MS), {
      code: 'WALK_CURSOR_REPEATED',
      action: 'stopSource',
    });
  });
}

test('cursors are compared as integers, beyond 2^53 too', () => {
  const from = begun({ walkCursor: '9007199254740992' });
  assert.equal(afterPage(from, page('9007199254740993'), DAY_MS).offset.walkCursor, '9007199254740993');
  assert.equal(afterPage(begun({ walkCursor: '9' }), page('10'), DAY_MS).offset.walkCursor, '10');
});
