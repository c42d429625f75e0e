import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offsetKey } from '../../../src/kafka/offset-store.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { createConnectorOperations } from '../../../src/run/admin-side.ts';
import type { Installation } from '../../../src/run/installation.ts';

/** An installation whose Kafka counts what is read of it. */
function counting() {
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const readings = { offsets: 0, group: 0 };
  const committed = { since: '5-0' };
  const source = { name: 'instruments', type: 'instruments', topics: { instruments: 'instruments' } };
  const kafka = {
    logReader: {
      async readToEnd({ onRecord }: { readonly onRecord: (record: CommittedRecord) => void }) {
        readings.offsets += 1;
        const key = Buffer.from(offsetKey('instruments', 'instruments'));
        const value = Buffer.from(JSON.stringify(committed));
        const place = { topic: 'p.offsets', partition: 0, offset: 0n, timestampMs: 0 };
        onRecord({ ...place, key, value, headers: {} });
      },
    },
    async consumerOffset() {
      readings.group += 1;
      return { offset: 7n, metadata: '' };
    },
  };
  const place = {
    settings: { prefix: 'p', sources: [source], prices: { from: ['instruments'] } },
    prefix: 'p',
    kafka,
    topics: { offsets: { name: 'p.offsets', partitions: 25 }, instruments: { partitions: 6 } },
    clock,
    signal: new AbortController().signal,
  };
  const operations = createConnectorOperations(place as unknown as Installation);
  return { operations, readings, clock, committed };
}

test('however often offsets are asked for, Kafka is read once a second', async () => {
  const { operations, readings, clock, committed } = counting();
  for (const second of [1, 2]) {
    committed.since = `${second}-0`;
    for (clock.nowMs = second * 1_000; clock.nowMs < second * 1_000 + 1_000; clock.nowMs += 20) {
      const [offsets] = await Promise.all([operations.offsets('instruments'), operations.offsets('prices')]);
      assert.deepEqual(offsets, [{ partition: { endpoint: 'instruments' }, offset: { since: `${second}-0` } }]);
    }
    assert.deepEqual(readings, { offsets: second, group: 6 * second });
  }
});
