import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../../../../src/sources/walk/instruments-messages.ts';
import { firstOffset, type InstrumentsOffset } from '../../../../src/sources/walk/instruments-offset.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = {
  filter: 'scope=all',
  pollIntervalMs: 30_000,
  walkIntervalMs: 24 * HOUR_MS,
  handoffMarginMs: 5_000,
  emptyCommitIntervalMs: HOUR_MS,
  gapProofMs: 60_000,
  offsetHoldMs: 86_400_000,
  behindLimitMs: 3_600_000,
  tombstones: true,
  maxShrink: 0.05,
  shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED,
};
const TIME = responseTime(Date.UTC(2026, 2, 1), Date.UTC(2026, 2, 1));
const QUIET = { kind: 'stream', events: [], next: '5-0', nextId: '5-0', time: TIME } as const;

/** Between two walks: what is asked for next is only the stream, when its time has come. */
function idle(walkRequest: string | null = null): InstrumentsCore {
  const first = firstOffset(SETTINGS.filter, '5-0', TIME, walkRequest);
  const committed: InstrumentsOffset = { ...first, walkPending: false };
  const core = new InstrumentsCore(SETTINGS, committed, 0);
  assert.equal(core.next(0).kind, 'stream');
  core.answered(QUIET, 0).committed();
  assert.equal(core.next(0).kind, 'wait');
  return core;
}

test('a walk that is asked for begins with an answer of the stream, for which nothing is waited', () => {
  const core = idle();
  core.requestWalk({ id: 'a', allowShrink: 7 });
  assert.deepEqual(core.next(1), { kind: 'stream', since: '5-0' });
  const decision = core.answered(QUIET, 1);
  assert.equal(decision.begun, 'requested');
  assert.deepEqual([decision.offset?.walkRequest, decision.offset?.walkAllowShrink], ['a', 7]);
  decision.committed();
  assert.equal(core.phase, 'census');
});

test('a request during a walk waits for its end, and asks the stream no more than once', () => {
  const core = idle();
  core.requestWalk({ id: 'a', allowShrink: null });
  core.answered(QUIET, 1).committed();
  core.answered({ kind: 'census', census: new Census() }, 2).committed();
  core.answered(QUIET, 2).committed();
  assert.deepEqual([core.phase, core.next(3).kind], ['margin', 'wait']);
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.equal(core.next(3).kind, 'stream');
  const decision = core.answered(QUIET, 3);
  assert.equal(decision.begun, null);
  decision.committed();
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.deepEqual([core.phase, core.next(4).kind], ['margin', 'wait']);
});

test('a request that was served, in this life or an earlier one, is not served again', () => {
  const core = idle('a');
  core.requestWalk({ id: 'a', allowShrink: null });
  assert.equal(core.next(1).kind, 'wait');
});

test('a request from before the first offset is served by the first walk, without what it allowed', () => {
  const core = new InstrumentsCore(SETTINGS, null, 0);
  core.requestWalk({ id: 'old', allowShrink: 100_000 });
  const decision = core.answered({ kind: 'start', since: '5-0', time: TIME }, 0);
  assert.deepEqual([decision.offset?.walkRequest, decision.offset?.walkAllowShrink], ['old', null]);
});

test('a request that comes while an answer is being committed is kept', () => {
  const core = idle();
  const decision = core.answered({ ...QUIET, events: [{ id: 1n, digest: 1n, deletes: false }], next: '6-0' }, 30_000);
  core.requestWalk({ id: 'a', allowShrink: null });
  decision.committed();
  assert.equal(core.next(30_000).kind, 'stream');
  assert.equal(core.answered({ ...QUIET, next: '6-0' }, 30_000).begun, 'requested');
});
