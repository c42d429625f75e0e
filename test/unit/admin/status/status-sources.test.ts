import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStatusSources } from '../../../../src/admin/status/status-sources.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { operator } from '../../../support/connectors/operator.ts';

test('the trouble of the list is shown until the list is asked again, also while the stream answers', () => {
  const time = { nowMs: Date.UTC(2026, 2, 1) };
  const { events, status } = createStatusSources({
    sources: [{ name: 's', type: 'instruments' }],
    targets: operator(['s']).targets,
    clock: { ...systemClock, wallMs: () => time.nowMs, monotonicMs: () => time.nowMs },
    describe: String,
  });
  const place = { source: 's', since: '5-0', secondsToRetentionCliff: 1, rows: 0, caughtUp: true, durationMs: 1 };
  const trouble = () => status(null)[0]?.trouble;
  const err = new Error('held back');
  events.attemptFailed({ source: 's', endpoint: 'instruments', failures: 1, waitMs: 3_600_000, err });
  for (const afterMs of [0, 30_000, 3_599_000, 3_600_000 + 60_000]) {
    time.nowMs = Date.UTC(2026, 2, 1) + afterMs;
    events.polled({ ...place, endpoint: 'events' });
    assert.match(trouble()?.message ?? '', /held back/);
  }
  events.polled({ ...place, endpoint: 'instruments' });
  assert.equal(trouble(), null);
  events.attemptFailed({ source: 's', endpoint: 'instruments', failures: 1, waitMs: 1_000, err });
  time.nowMs += 3_600_000;
  events.polled({ ...place, endpoint: 'events' });
  assert.equal(trouble(), null, 'the list is not asked any more');
  events.attemptFailed({ source: 's', failures: 1, waitMs: 60_000, err });
  assert.notEqual(trouble(), null);
  events.polled({ ...place, endpoint: 'events' });
  assert.equal(trouble(), null, 'what concerns the whole source is over with any answer');
});
