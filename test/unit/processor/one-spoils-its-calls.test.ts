import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { PriceQuestion } from '../../../src/processor/bulk-prices.ts';
import { drivePartitions, isinOf } from './driven-partitions.ts';

const INSTRUMENTS = 3_000;
const HOURS = 3;
const HOUR_MS = 3_600_000;
const LOOK_EVERY_MS = 10_000;
const CULPRIT = String(1_000 + 7 * 1_234);
const FOREVER_MS = 100 * HOUR_MS;

const holdsCulprit = (asked: readonly PriceQuestion[]) => asked.some(({ isin }) => isin === isinOf(CULPRIT));
const refused = new ConnectorError('PROVIDER_REFUSED', 'status 400', { fields: { status: 400 } });
const failed = new ConnectorError('PROVIDER_BUSY', 'status 500', { fields: { status: 500 } });

for (const [why, takesMs, error] of [
  ['gets its call refused', null, refused],
  ['makes its call fail', null, failed],
  ['hangs its call', FOREVER_MS, null],
] as const) {
  test(`one of ${INSTRUMENTS} instruments ${why}: no other is overdue in ${HOURS} hours`, async (t) => {
    const driven = drivePartitions({
      instruments: INSTRUMENTS,
      partitions: 2,
      takesMs: (asked) => (takesMs !== null && holdsCulprit(asked) ? takesMs : 200),
      refuse: (asked) => (holdsCulprit(asked) ? error : null),
    });
    t.after(() => driven.stop());
    for (let ms = 0; ms < HOURS * HOUR_MS; ms += LOOK_EVERY_MS) {
      await driven.clock.advance(LOOK_EVERY_MS);
      const others = driven.overdue('overview').filter((id) => id !== CULPRIT);
      assert.deepEqual(others, [], `${others.length} are overdue after ${ms} ms`);
    }
    const withOthers = driven.calls.filter(({ ids }) => ids.includes(CULPRIT) && ids.length > 1);
    const alone = driven.calls.filter(({ ids }) => ids.includes(CULPRIT) && ids.length === 1);
    const lastMs = withOthers.at(-1)?.atMs ?? 0;
    assert.ok(lastMs < 4 * 60_000, `it still spoils calls of others after ${lastMs} ms`);
    assert.ok(alone.length > HOURS, 'it is asked for again, alone');
    t.diagnostic(`${driven.calls.length} calls, ${withOthers.length} spoilt, ${alone.length} for it alone`);
  });
}

test('one that spoilt calls for an hour has its price soon after it no longer does, and shares calls again', async (t) => {
  let isSpoiling = true;
  const driven = drivePartitions({
    instruments: 1_000,
    partitions: 1,
    takesMs: (asked) => (isSpoiling && holdsCulprit(asked) ? FOREVER_MS : 200),
  });
  t.after(() => driven.stop());
  driven.read(CULPRIT, isinOf(CULPRIT));
  await driven.clock.advance(HOUR_MS);
  assert.ok(!driven.isPriced('overview', CULPRIT));
  isSpoiling = false;
  const sinceMs = driven.clock.monotonicMs();
  await driven.clock.advance(2 * HOUR_MS);
  assert.ok(driven.isPriced('overview', CULPRIT));
  const shared = driven.calls.filter(({ atMs, ids }) => atMs > sinceMs && ids.includes(CULPRIT) && ids.length > 1);
  assert.ok(shared.length > 0, 'it is asked for alone for ever');
});

test('new instruments are priced while another one that is new hangs its call', async (t) => {
  const driven = drivePartitions({
    instruments: 1_000,
    partitions: 1,
    takesMs: (asked) => (holdsCulprit(asked) ? FOREVER_MS : 200),
  });
  t.after(() => driven.stop());
  await driven.clock.advance(2 * 60_000);
  const before = Array.from({ length: 40 }, (_, at) => `9${at}`);
  const after = Array.from({ length: 40 }, (_, at) => `8${at}`);
  for (const id of [...before, CULPRIT, ...after]) driven.read(id, isinOf(id));
  await driven.clock.advance(30_000);
  for (const id of [...before, ...after]) assert.ok(driven.isPriced('overview', id), `${id} has no price`);
});
