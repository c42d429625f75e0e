import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceKind } from '../../../src/prices/bulk-prices.ts';
import { ReportedFailures } from '../../../src/prices/core/core-messages.ts';
import { createReportedFailuresReader } from '../../../src/prices/read-reported-failures.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { TOPICS } from './memory-prices.ts';

const SERIES = { ...TOPICS.prices, name: 'daily-prices' };

type Options = Parameters<typeof createReportedFailuresReader>[0];

function readerOf(
  prices: readonly PriceKind[],
  readToEnd: Options['reader']['readToEnd'],
  reported = new ReportedFailures(),
) {
  return createReportedFailuresReader({
    reported,
    targets: {
      prices: new Map(prices.map((kind) => [kind, kind === 'overview' ? TOPICS.prices : SERIES])),
      deadLetters: TOPICS.deadLetters,
    },
    reader: { readToEnd },
    clock: skippingClock(),
    signal: new AbortController().signal,
  });
}

test('partitions that open together read the dead letters once, also when one is taken away meanwhile', async () => {
  const readings: PromiseWithResolvers<void>[] = [];
  const read = readerOf(['overview'], () => {
    const reading = Promise.withResolvers<void>();
    readings.push(reading);
    return reading.promise;
  });
  const taken = new AbortController();
  const { signal } = new AbortController();
  const [first, ...others] = [read(taken.signal), read(signal), read(signal)];
  taken.abort(new Error('taken away'));
  await assert.rejects(first, /taken away/);
  readings[0]?.resolve();
  await Promise.all(others);
  assert.equal(readings.length, 1);
});

test('a failure counts as reported for the kind of its dead letter, and for no other of the same topic', async () => {
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
  const readToEnd: Options['reader']['readToEnd'] = async ({ onRecord, topic }) => {
    for (const [at, [id, kind]] of letters.entries()) {
      const named: Record<string, string> = kind === null ? {} : { 'spc-kind': kind };
      const target = { 'spc-source': 'prices', '__connect.errors.topic': SERIES.name, 'spc-problem': 'status 404' };
      const headers = { ...named, ...target };
      const [key, value] = [Buffer.from(id), Buffer.from('{}')];
      onRecord({ topic, partition: 0, offset: BigInt(at), timestampMs: 0, key, value, headers });
    }
  };
  const read = readerOf(['daily/OHLC', 'daily/Close', 'overview'], readToEnd, reported);
  await read(new AbortController().signal);
  const reportedOf = (kind: PriceKind) =>
    letters.map(([id]) => id).filter((id) => reported.has(kind, id, 'status 404'));
  assert.deepEqual(reportedOf('daily/Close'), ['1']);
  assert.deepEqual(reportedOf('daily/OHLC'), ['2', '5']);
  assert.deepEqual(reportedOf('overview'), []);
});
