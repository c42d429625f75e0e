import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReportedFailures } from '../../../src/processor/core/reported-failures.ts';
import { createReportedFailuresReader } from '../../../src/processor/read-reported-failures.ts';
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
