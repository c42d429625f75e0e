import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstrumentsReport, newestWalk } from '../../../../src/connector/tasks/instruments-report.ts';
import { instrumentsNotification } from '../../../../src/connector/tasks/walk-notification.ts';
import type { CoreNotification } from '../../../../src/connector/walk/instruments-messages.ts';
import { firstOffset } from '../../../../src/connector/walk/instruments-offset.ts';
import type { ConnectorEvents } from '../../../../src/observability/connector-events.ts';

const HOUR_MS = 3_600_000;
const TIME = { dateMs: 10 * HOUR_MS, from: 'provider', ownMs: 10 * HOUR_MS + 7 } as const;
const OFFSET = firstOffset('', '5-1', TIME, null);

function reported() {
  const seen: [name: string, event: Record<string, unknown>][] = [];
  const events = new Proxy({}, { get: (_, name) => (event: never) => void seen.push([String(name), event]) });
  return { seen, report: createInstrumentsReport('s', events as ConnectorEvents, 24 * HOUR_MS) };
}

test('a source that starts reports the newest walk of its committed offset', () => {
  const counts = { ...OFFSET.counts, pages: 3, rows: 2_500, gone: 4 };
  const common = { walk: 1, startedAt: '1970-01-01T10:00:00.007Z', pages: 3, rows: 2_500 };
  assert.deepEqual(newestWalk({ ...OFFSET, counts }), { ...common, gone: null });
  assert.deepEqual(newestWalk({ ...OFFSET, counts, walkPending: false }), { ...common, gone: 4 });
});

test('a notification is reported with the message of its record', () => {
  const { seen, report } = reported();
  const notification: CoreNotification = { kind: 'shrinkRefused', walk: 1, why: 'tooMany', gone: 900, held: 1_000 };
  const decision = {
    write: { kind: 'nothing' },
    offset: OFFSET,
    notifications: [notification],
    begun: null,
    discarded: null,
  };
  report.decided(decision as never, { page: null, rows: [], commitMs: 1 });
  const text = instrumentsNotification('s', notification, TIME.dateMs).message;
  assert.ok(text.length > 20);
  assert.deepEqual(seen, [['notified', { source: 's', kind: 'shrinkRefused', text }]]);
});
