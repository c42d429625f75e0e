import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimulatorClock } from '../../../src/dev/simulator/clock.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { isinsOf, onceRight } from '../../support/ledgers/prices-on-topics.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { eventually } from '../../support/runner/eventually.ts';

const HOUR_MS = 3_600_000;
const WINDOW_MS = 300_000;
const LOOK_BACK_MS = 2 * WINDOW_MS;
const CATCH_UP_MS = 8 * HOUR_MS;
const SLOT_MS = 60_000;
const PARTITIONS = [0, 1, 2, 3, 4, 5];

test('the windows of an outage and of a time without a processor are written; of a longer time they are reported once', async (t) => {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return;
  const prefix = uniquePrefix('outage');
  // Yesterday: no simulated moment is ahead of the clock of the broker.
  const beganMs = Math.floor((Date.now() - 24 * HOUR_MS) / WINDOW_MS) * WINDOW_MS;
  const simulator = await createSimulator({ instruments: 12, seed: 7, port: 0, clock: createSimulatorClock(beganMs) });
  t.after(() => simulator.close());
  const clock = { ...systemClock, wallMs: simulator.wallMs, monotonicMs: () => simulator.wallMs() - beganMs };
  const more = `
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices:
  maxBackoff: 1s
  kinds:
    overview: { enabled: false }
    intraday: { enabled: true, refreshInterval: 1m, lookBack: 10m, catchUp: 8h }`;
  const start = () => startConnector(t, { stack, simulator, prefix, more, overrides: { clock } });
  const ids = [...isinsOf(simulator).keys()];

  /** The openings of windows that have closed since the first look-back and are not on the topic. */
  const missing = async () => {
    const records = await readCommitted(kafka, `${prefix}.intraday-prices`, PARTITIONS);
    const keys = records.map(({ key }) => String(key).split('/'));
    const written = new Set(keys.map((key) => `${key[0]} ${Date.parse(key.at(-1) ?? '')}`));
    const openings: number[] = [];
    for (let ms = beganMs - LOOK_BACK_MS; ms < simulator.wallMs() - WINDOW_MS; ms += WINDOW_MS) openings.push(ms);
    const isMissing = (ms: number) => ids.some((id) => !written.has(`${id} ${ms}`));
    return openings.filter(isMissing);
  };
  const noneIsMissing = () =>
    onceRight(async () => {
      const { length } = await missing();
      return length === 0 ? null : `${length} windows are missing`;
    });
  /** Early in a window, when everything is due: the next one but one. */
  const goOn = () => simulator.advanceClock(2 * WINDOW_MS - (simulator.wallMs() % WINDOW_MS) + 30_000);
  /** Each partition commits its low-water mark, once a minute. */
  const marked = async () => {
    const sinceMs = simulator.wallMs() - WINDOW_MS;
    goOn();
    await onceRight(async () => {
      const marks = PARTITIONS.map(async (partition) => {
        const found = await kafka.consumerOffset(
          `${prefix}-prices`,
          { topic: `${prefix}.instruments`, partition },
          t.signal,
        );
        return /"(20[^"]*)"/.exec(found?.metadata ?? '')?.[1] ?? '';
      });
      const all = await Promise.all(marks);
      return all.every((mark) => Date.parse(mark) >= sinceMs) ? null : `the marks are ${all}`;
    });
  };
  const reports = async () => (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind === 'windows-missed');

  /**
   * Begins early in a window. An instrument is requested in its slot, a minute long, after a start. A longer step would
   * give each partition windows of its own on a slow machine, where some are requested before the step.
   */
  const startLater = async (afterMs: number) => {
    simulator.advanceClock(afterMs + WINDOW_MS - (simulator.wallMs() % WINDOW_MS));
    const connector = await start();
    const assigned = () => connector.seen.filter(({ name }) => name === 'partitionAssigned').length;
    await onceRight(() => (assigned() === PARTITIONS.length ? null : `${assigned()} partitions are assigned`));
    simulator.advanceClock(SLOT_MS);
    return connector;
  };

  let connector = await start();
  await connector.event('walkCompleted');
  await noneIsMissing();
  simulator.injectFaults([{ match: 'bulk', count: 0, fault: { kind: 'status', status: 500 } }]);
  simulator.advanceClock(2 * HOUR_MS);
  await onceRight(() => (simulator.requests.last.some(({ status }) => status === 500) ? null : 'nothing was refused'));
  simulator.clearFaults();
  await noneIsMissing();
  await marked();
  await connector.stop();

  connector = await startLater(3 * HOUR_MS);
  await noneIsMissing();
  await marked();
  await connector.stop();
  assert.deepEqual(await reports(), []);

  connector = await startLater(12 * HOUR_MS);
  const servedMs = simulator.wallMs() - CATCH_UP_MS - LOOK_BACK_MS;
  await onceRight(async () => {
    const lastMs = (await missing()).at(-1) ?? 0;
    return lastMs < servedMs ? null : `the window of ${new Date(lastMs).toISOString()} is missing`;
  });
  await marked();
  await eventually('the missed windows are reported', reports, ({ length }) => length > 0);
  await connector.stop();
  const [report, ...others] = await reports();
  assert.deepEqual(others, []);
  const command = /: spconnect backfill intraday --from (.*Z) --to (.*Z)$/.exec(String(report?.message)) ?? [];
  const [fromMs = 0, toMs = 0] = command.slice(1).map((text) => Date.parse(text));
  const left = (await missing()).filter((ms) => ms < simulator.wallMs() - CATCH_UP_MS);
  assert.ok(left.length > 0);
  const texts = left.map((ms) => new Date(ms).toISOString());
  const isWithin = left.every((ms) => ms >= fromMs && ms < toMs);
  assert.ok(isWithin, `${report?.message}: ${texts}`);
});
