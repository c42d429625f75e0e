import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { drivePartitions, isinOf } from './driven-partitions.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const MINUTES = 120;
/** Linger, a call and a commit. */
const AT_ONCE_MS = 1_000;

const failure = (status: number) =>
  new ConnectorError(status === 403 ? 'PROVIDER_UNAUTHORIZED' : 'PROVIDER_BUSY', `status ${status}`, {
    fields: { status },
  });

for (const [how, takesMs, error] of [
  ['refused', 200, failure(403)],
  ['failing', 200, failure(500)],
  ['hanging', 100 * HOUR_MS, null],
] as const) {
  test(`with daily prices ${how} for two hours the latest ones stay fresh, and new issues are priced at once`, async (t) => {
    let isDailyDown = true;
    const driven = drivePartitions({
      instruments: 2_000,
      partitions: 2,
      kinds: ['overview', 'daily', 'intraday'],
      takesMs: (_, kind) => (kind === 'daily' && isDailyDown ? takesMs : 200),
      refuse: (_, kind) => (kind === 'daily' && isDailyDown ? error : null),
    });
    t.after(() => driven.stop());
    for (let minute = 0; minute < MINUTES; minute++) {
      const id = `9${minute}`;
      if (minute % 10 === 5) driven.read(id, isinOf(id));
      await driven.clock.advance(AT_ONCE_MS);
      for (const kind of ['overview', 'intraday'] as const) {
        const overdue = driven.overdue(kind);
        assert.deepEqual(overdue, [], `${overdue.length} of ${kind} are overdue after ${minute} minutes`);
        if (minute % 10 === 5) assert.ok(driven.isPriced(kind, id), `the new issue ${id} has no ${kind}`);
      }
      await driven.clock.advance(MINUTE_MS - AT_ONCE_MS);
    }
    const daily = driven.calls.filter(({ kind }) => kind === 'daily').length;
    assert.ok(daily < 4_000, `${daily} calls for what is ${how}`);
    isDailyDown = false;
    await driven.clock.advance(10 * MINUTE_MS);
    assert.equal(driven.overdue('daily').length, 0, 'once it is back all are asked for again');
  });
}
