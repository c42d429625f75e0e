import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError, type ErrorCode } from '../../../src/errors.ts';
import type { PriceQuestion } from '../../../src/prices/bulk-prices.ts';
import { drivePartitions, isinOf, REFRESH_MS } from './driven-partitions.ts';

const MINUTE_MS = 60_000;
const LOOK_EVERY_MS = 5_000;
const MINUTES = 12;
const FOREVER_MS = 100 * 3_600_000;
const ANSWER_MS = 200;

const status = (code: ErrorCode, number: number, retryAfterMs?: number) =>
  new ConnectorError(code, `status ${number}`, { fields: { status: number }, retryAfterMs });

/** Each way in which one item makes its whole call fail; null: the call hangs. */
const SPOILS: Readonly<Record<string, ConnectorError | null>> = {
  'hangs its call': null,
  'has its call reset': new ConnectorError('PROVIDER_UNREACHABLE', 'reset before headers'),
  'has an answer that does not fit': new ConnectorError('BULK_MISMATCH', 'it has other items'),
  'has an answer that is too large': new ConnectorError('BODY_TOO_LARGE', 'too large'),
  'gets 400': status('PROVIDER_REFUSED', 400),
  'gets 403': status('PROVIDER_UNAUTHORIZED', 403),
  'gets 404': status('PROVIDER_REFUSED', 404),
  'gets 422': status('PROVIDER_REFUSED', 422),
  'gets 500': status('PROVIDER_BUSY', 500),
  'gets 502': status('PROVIDER_BUSY', 502),
  'gets 503': status('PROVIDER_BUSY', 503),
  'gets 503 with Retry-After: 0': status('PROVIDER_BUSY', 503, 0),
  'gets 500 with Retry-After: 2': status('PROVIDER_BUSY', 500, 2_000),
};

const idOf = (at: number) => String(1_000 + 7 * at);

const FOUR = { instruments: 3_000, partitions: 2, spoilers: [3, 700, 1_234, 2_999] };
const SMALL = [
  { instruments: 3_000, partitions: 2, spoilers: [1_234] },
  { instruments: 300, partitions: 6, spoilers: [41] },
  { instruments: 300, partitions: 6, spoilers: [3, 70, 123, 299] },
];

for (const [how, error] of Object.entries(SPOILS)) {
  const universes = error === null || error.retryAfterMs ? [FOUR, ...SMALL] : [FOUR];
  for (const { instruments, partitions, spoilers } of universes) {
    const ids = new Set(spoilers.map(idOf));
    const isins = new Set([...ids].map(isinOf));
    const isSpoilt = (asked: readonly PriceQuestion[]) => asked.some(({ isin }) => isins.has(isin));
    const what = `${spoilers.length} of ${instruments} ${how}: no other is overdue, and it is priced once its isin is corrected`;
    test(what, async (t) => {
      const driven = drivePartitions({
        instruments,
        partitions,
        takesMs: (asked) => (error === null && isSpoilt(asked) ? FOREVER_MS : ANSWER_MS),
        refuse: (asked) => (isSpoilt(asked) ? error : null),
      });
      t.after(() => driven.stop());
      for (let ms = 0; ms < MINUTES * MINUTE_MS; ms += LOOK_EVERY_MS) {
        await driven.clock.advance(LOOK_EVERY_MS);
        const others = driven.overdue('overview').filter((id) => !ids.has(id));
        assert.deepEqual(others.slice(0, 3), [], `${others.length} are overdue after ${ms} ms`);
      }
      const spoilt = driven.calls.filter((call) => call.ids.length > 1 && call.ids.some((id) => ids.has(id)));
      t.diagnostic(`${driven.calls.length} calls, ${spoilt.length} spoilt, the last at ${spoilt.at(-1)?.atMs} ms`);
      assert.ok((spoilt.at(-1)?.atMs ?? 0) < 4 * MINUTE_MS, 'it shares calls again');
      for (const id of ids) driven.read(id, `corrected-${id}`);
      await driven.clock.advance(REFRESH_MS);
      for (const id of ids) assert.ok(driven.isPriced('overview', id), `${id} has no price after its correction`);
    });
  }
}
