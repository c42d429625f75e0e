import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceKind } from '../../../src/prices/bulk-prices.ts';
import { ReportedFailures } from '../../../src/prices/core/core-messages.ts';
import { createReportedFailuresReader } from '../../../src/prices/read-reported-failures.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { TOPICS } from './memory-prices.ts';

/** A reader of the dead letters whose readings end when they are let go. */
function scene() {
  const readings: PromiseWithResolvers<void>[] = [];
  const stopping = new AbortController();
  const read = createReportedFailuresReader({
    reported: new ReportedFailures(),
    targets: { prices: new Map([['overview', TOPICS.prices]]), deadLetters: TOPICS.deadLetters },
    reader: {
      readToEnd() {
        const reading = Promise.withResolvers<void>();
        readings.push(reading);
        return reading.promise;
      },
    },
    clock: skippingClock(),
    signal: stopping.signal,
  });
  return { readings, read };
}

test('partitions that open together read the dead letters once', async () => {
  const { readings, read } = scene();
  const { signal } = new AbortController();
  const opened = Promise.all([read(signal), read(signal), read(signal)]);
  assert.equal(readings.length, 1);
  readings[0]?.resolve();
  await opened;
});

test('a partition that is taken away while it opens leaves the reading to the others', async () => {
  const { readings, read } = scene();
  const taken = new AbortController();
  const [first, second] = [read(taken.signal), read(new AbortController().signal)];
  taken.abort(new Error('taken away'));
  await assert.rejects(first, /taken away/);
  readings[0]?.resolve();
  await second;
  assert.equal(readings.length, 1);
});

test('a failure counts as reported for the kind of its dead letter, and for no other of the same topic', async () => {
  const series = { ...TOPICS.prices, name: 'daily-prices' };
  const reported = new ReportedFailures();
  const letters = [
    ['1', 'daily/Close'],
    ['2', 'daily/OHLC'],
    // Of a series that is not asked for, or not any more.
    ['3', 'daily/LastBidAsk'],
    ['4', 'overview'],
    // As letters were before they named their kind.
    ['5', null],
  ] as const;
  const read = createReportedFailuresReader({
    reported,
    targets: {
      prices: new Map([
        ['daily/OHLC', series],
        ['daily/Close', series],
        ['overview', TOPICS.prices],
      ]),
      deadLetters: TOPICS.deadLetters,
    },
    reader: {
      async readToEnd({ onRecord, topic }) {
        for (const [at, [id, kind]] of letters.entries()) {
          const named: Record<string, string> = kind === null ? {} : { 'spc-kind': kind };
          const target = { 'spc-source': 'prices', '__connect.errors.topic': series.name, 'spc-problem': 'status 404' };
          const headers = { ...named, ...target };
          const [key, value] = [Buffer.from(id), Buffer.from('{}')];
          onRecord({ topic, partition: 0, offset: BigInt(at), timestampMs: 0, key, value, headers });
        }
      },
    },
    clock: skippingClock(),
    signal: new AbortController().signal,
  });
  await read(new AbortController().signal);
  const reportedOf = (kind: PriceKind) =>
    letters.map(([id]) => id).filter((id) => reported.has(kind, id, 'status 404'));
  assert.deepEqual(reportedOf('daily/Close'), ['1']);
  assert.deepEqual(reportedOf('daily/OHLC'), ['2', '5']);
  assert.deepEqual(reportedOf('overview'), []);
});
