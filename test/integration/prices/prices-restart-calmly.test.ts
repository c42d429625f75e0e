import assert from 'node:assert/strict';
import type { BatchPriced } from '../../../src/observe/events.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { onceRight, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';

const INSTRUMENTS = 600;
const REFRESH_MS = 8_000;
const CALLS_PER_SECOND = 10;
const WINDOW_MS = 5_000;
const PARTITIONS = [0, 1, 2, 3, 4, 5];
/** The key of what a writer touches its partitions with (and aborts), unless its last transaction was committed: then it writes none. */
const SETTLES = '["",{"settles":true}]';
/**
 * How late timers and polls of a busy machine may be; how long it takes to answer and to commit is measured. One that
 * were left out in an interval would come a whole one later.
 */
const LATE_MS = REFRESH_MS / 2;

const SCENE = { simulator: { instruments: INSTRUMENTS } };

testInstallation(
  'a restart in mid-refresh asks no faster than allowed, and all prices are fresh within one interval',
  SCENE,
  async (t, at) => {
    const { stack, prefix, simulator, kafka } = at;
    const calls: number[] = [];
    t.after(simulator.onRequest((endpoint) => endpoint === 'bulk' && calls.push(performance.now())));
    const more = `
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: ${CALLS_PER_SECOND} }
prices: { kinds: { overview: { refreshInterval: ${REFRESH_MS}ms } } }`;
    const start = () => at.start({ more });
    const first = await start();
    // Before it nobody knows whether the topics are there.
    await first.event('walkCompleted');
    await onceRight(async () => {
      const { waiting, all } = await unansweredInputs(kafka, prefix);
      return all < INSTRUMENTS || waiting > 0 ? `${waiting} of ${all} wait` : null;
    });
    // The middle of an interval: some have been refreshed, some not.
    await onceRight(() => (batchesOf(first).some(({ inputs }) => inputs === 0) ? null : 'no refresh yet'));
    await first.stop();

    const callsBefore = calls.length;
    const refreshedMs = calls.at(-1) ?? 0;
    const second = await start();
    const started = await second.event('processorStarted');
    await onceRight(() => {
      const { instruments } = started.fields.freshness() ?? { instruments: 0 };
      return instruments < INSTRUMENTS ? `${instruments} in the table` : null;
    });
    const assignedMs = performance.now();
    await onceRight(() => {
      const { priced } = started.fields.freshness() ?? { priced: 0 };
      return priced < INSTRUMENTS ? `${priced} are priced` : null;
    });
    const pricedMs = performance.now();
    const tookMs = pricedMs - assignedMs;
    const { ageMaxMs } = started.fields.freshness();
    await second.stop();

    const slowest = (times: readonly number[]) => Math.max(0, ...times);
    const slowestCallMs = slowest(second.fieldsOf('bulkAnswered').map(({ durationMs }) => durationMs));
    const slowestMs = slowestCallMs + slowest(batchesOf(second).map(({ commitMs }) => commitMs));
    // One that is due may wait for the batches before it, and then for its own.
    const dueMs = REFRESH_MS + LATE_MS + 2 * slowestMs;
    assert.ok(tookMs < dueMs, `it took ${tookMs} ms until all were fresh, not ${dueMs}`);
    // From the last refresh before the restart, however long the restart took.
    const restedMs = pricedMs - refreshedMs;
    assert.ok(restedMs > REFRESH_MS / 2, `all were asked for again ${restedMs} ms after the last refresh: a stampede`);
    assert.ok(ageMaxMs < dueMs, `the oldest is ${ageMaxMs} ms old, not ${dueMs}`);
    const after = calls.slice(callsBefore);
    for (const atMs of after) {
      const within = after.filter((other) => other >= atMs && other < atMs + WINDOW_MS).length;
      // They are spaced where they are sent; a busy machine lets some arrive together.
      assert.ok(
        within <= (CALLS_PER_SECOND * WINDOW_MS) / 1_000 + CALLS_PER_SECOND,
        `${within} calls in ${WINDOW_MS} ms`,
      );
    }
    const fullCalls = (Math.ceil(tookMs / REFRESH_MS) + 1) * PARTITIONS.length;
    assert.ok(after.length <= fullCalls, `${after.length} calls, where ${fullCalls} full ones would do`);
    const isNoneRepeated = batchesOf(second).every(({ inputs }) => inputs === 0);
    assert.ok(isNoneRepeated, 'no record was answered again');
    const [broker = ''] = stack.brokers;
    for (const [topic, partition] of [
      ...PARTITIONS.map((of) => ['prices', of] as const),
      ['dead-letters', 0] as const,
    ]) {
      const { batches } = await viewPartition({ broker, topic: `${prefix}.${topic}`, partition });
      const openings = batches.filter(({ control, producerId, records }, at) => {
        const before = batches.slice(0, at).findLast((batch) => batch.producerId === producerId);
        return records.some(({ key }) => key === SETTLES) || (control && before?.control !== false);
      });
      assert.ok(
        openings.length >= 2,
        `what a broker may have left open of ${topic} ${partition} is ended at each start`,
      );
    }
    t.diagnostic(
      `fresh after ${Math.round(tookMs)} ms (slowest batch ${Math.round(slowestMs)} ms) with ${after.length} calls; oldest then ${Math.round(ageMaxMs)} ms`,
    );
  },
);

const batchesOf = (connector: RunningConnector): BatchPriced[] => connector.fieldsOf('batchPriced');
