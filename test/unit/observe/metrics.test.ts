import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import type { Freshness } from '../../../src/observe/events.ts';
import { METRICS, type MetricDefinition, type MetricName } from '../../../src/observe/metric-table.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { statusMetrics } from '../../support/connectors/status-metrics.ts';
import { scraped } from '../../support/ledgers/scraped.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { everythingHappens, FRESHNESS, PAGE } from './every-event.ts';

const source = 'instruments';
const place = { source, since: '5-0', secondsToRetentionCliff: 604_800 };
function metricsAt() {
  const now = { wallMs: 1_000_000, monotonicMs: 5_000, kafkaAnsweredMs: Number.POSITIVE_INFINITY };
  const clock = { wallMs: () => now.wallMs, monotonicMs: () => now.monotonicMs };
  const metrics = statusMetrics({ sources: [source, 'checks'], clock, kafkaAnsweredMs: () => now.kafkaAnsweredMs });
  return { ...metrics, now, series: async () => scraped(await metrics.text()) };
}

test('every source of the settings is there from the first scrape on', async () => {
  const series = await metricsAt().series();
  for (const name of [source, 'checks']) {
    assert.equal(series.get(`spconnect_dead_letters_total{source="${name}",reason="tooLarge"}`), 0);
    assert.equal(series.get(`spconnect_source_status{source="${name}",status="unassigned"}`), 1);
    assert.equal(series.get(`spconnect_source_last_poll_timestamp_seconds{source="${name}"}`), 1_000);
  }
  assert.equal(series.get(`spconnect_build_info{version="1.2.3",node="${process.versions.node}"}`), 1);
  assert.ok(series.has('nodejs_eventloop_lag_p99_seconds') && series.has('process_start_time_seconds'));
});

test('the delay of the event loop is measured four times a second, not a hundred times', async () => {
  const { series } = metricsAt();
  await series();
  const measured = await eventually(
    'a delay was measured',
    async () => {
      await systemClock.sleep(600);
      return series();
    },
    (found) => Number(found.get('nodejs_eventloop_lag_max_seconds')) > 0,
  );
  assert.ok(Number(measured.get('nodejs_eventloop_lag_min_seconds')) > 0.2);
});

test('the numbers of a committed page are added up', async () => {
  const { events, series } = metricsAt();
  events.walkStarted({ source, walk: 1, since: '5-0', why: 'first', waitMs: 0 });
  events.pageCommitted(PAGE);
  events.pageCommitted(PAGE);
  const seen = await series();
  const sum = (name: string, more = '') => seen.get(`spconnect_${name}{source="instruments"${more}}`);
  assert.equal(sum('records_written_total', ',record="instrument"'), 8);
  assert.equal(sum('dead_letters_total', ',reason="wrongType"'), 4);
  assert.equal(sum('dead_letters_total', ',reason="withoutKey"'), 2);
  assert.equal(sum('drift_fields_total'), 10);
  assert.equal(sum('rounded_numbers_total'), 12);
  assert.equal(sum('duplicate_keys_total'), 14);
  assert.equal(sum('walk_pages'), 3);
  assert.equal(sum('commit_duration_seconds_sum'), 0.16);
});

test('the seconds to the retention cliff fall while nothing is polled, and jump back with a poll', async () => {
  const { events, now, series } = metricsAt();
  const cliff = async () => (await series()).get('spconnect_seconds_to_retention_cliff{source="instruments"}');
  assert.equal(await cliff(), undefined);
  events.sourceStarted(place);
  assert.equal(await cliff(), 604_800);
  now.monotonicMs += 3_600_000;
  assert.equal(await cliff(), 601_200);
  events.polled({ ...place, endpoint: 'events', rows: 2, caughtUp: true, durationMs: 30 });
  assert.equal(await cliff(), 604_800);
  now.monotonicMs += 8 * 86_400_000;
  assert.equal(await cliff(), -86_400);
});

test('what another replica runs now is no longer reported here, and no failure of it', async () => {
  const { events, series } = metricsAt();
  const reported = async (name: string) =>
    [...(await series()).keys()].filter((key) => key.startsWith(name) && key.includes(`source="${source}"`));
  const status = async (name: string) =>
    (await series()).get(`spconnect_source_status{source="${source}",status="${name}"}`);
  const partitions = [source, 'checks'].map((name) => offsetPartition(offsetKey(name, 'instruments')));
  events.replicaJoined({ partitions: partitions.slice(0, 1), sources: [source] });
  events.sourceStarted(place);
  events.polled({ ...place, endpoint: 'events', rows: 2, caughtUp: true, durationMs: 30 });
  events.walkStarted({ source, walk: 1, since: '5-0', why: 'first', waitMs: 0 });
  events.replicaJoined({ partitions, sources: [source, 'checks'] });
  assert.equal(await status('running'), 1, 'it has kept the source');
  const ofNow = ['spconnect_source_caught_up', 'spconnect_seconds_to_retention_cliff', 'spconnect_walk_running'];
  for (const name of ofNow) assert.equal((await reported(name)).length, 1, name);
  events.sourceFailed({ source, err: new ConnectorError('SCHEMA_INCOMPATIBLE', 'no') });

  events.replicaJoined({ partitions: [], sources: [] });
  assert.equal(await status('failed'), 0);
  assert.equal(await status('running'), 0);
  assert.equal(await status('unassigned'), 1);
  for (const name of [...ofNow, 'spconnect_walk_pages']) assert.deepEqual(await reported(name), [], name);
  const attempt = { failures: 1, waitMs: 1, err: new ConnectorError('KAFKA_UNREACHABLE', 'no') };
  for (const part of ['topics', 'replicas'] as const) events.attemptFailed({ part, ...attempt });
  assert.deepEqual(await reported('spconnect_poll_failures_total'), [], 'they are no sources');
  // What has happened here stays counted.
  assert.equal((await reported('spconnect_rows_received_total')).length, 2);
});

test('before its first poll here, a source was last polled when this process got it', async () => {
  const { events, series, now } = metricsAt();
  now.wallMs += 3_600_000;
  events.replicaJoined({ partitions: [offsetPartition(offsetKey(source, 'instruments'))], sources: [source] });
  const polled = (await series()).get(`spconnect_source_last_poll_timestamp_seconds{source="${source}"}`);
  assert.equal(polled, now.wallMs / 1_000);
});

test('whether a walk is under way is known after a restart too, and none is in a source that has stopped', async () => {
  const { events, series } = metricsAt();
  const running = async () => (await series()).get(`spconnect_walk_running{source="${source}"}`);
  events.sourceStarted(place);
  assert.equal(await running(), undefined);
  events.polled({ ...place, secondsToNextWalk: 9, endpoint: 'events', rows: 0, caughtUp: true, durationMs: 1 });
  assert.equal(await running(), 0);
  events.walkStarted({ source, walk: 2, since: '5-0', why: 'interval', waitMs: 0 });
  assert.equal(await running(), 1);
  events.sourceStopped({ source });
  assert.equal(await running(), undefined);
});

test('what is not known has no series, and is never 0', async () => {
  const { events, series, now } = metricsAt();
  const KNOWN =
    /^spconnect_(kafka_silent|build_info|source_status|prices_status|source_last_poll|.*_total|.*_(bucket|sum|count))/;
  const gauges = async () =>
    [...(await series()).keys()].filter((key) => key.startsWith('spconnect_') && !KNOWN.test(key));
  assert.deepEqual(await gauges(), []);
  const unread = { ...FRESHNESS, instruments: 0, kinds: FRESHNESS.kinds.map((kind) => ({ ...kind, ageMaxMs: null })) };
  let freshness: Freshness | null = null;
  events.processorStarted({ groupId: 'g', topics: ['t'], kinds: ['overview'], freshness: () => freshness });
  assert.deepEqual(await gauges(), []);
  freshness = unread;
  const unexpected = (await gauges()).filter((key) => /age_max|input_lag|unanswered|partitions/.test(key));
  assert.deepEqual(unexpected, []);
  events.processorJoined({ partitions: 0 });
  const lag = async () => (await series()).get('spconnect_prices_input_lag');
  assert.equal(await lag(), FRESHNESS.lag);
  events.sourceStarted(place);
  events.polled({ ...place, endpoint: 'events', rows: 0, caughtUp: true, durationMs: 1 });
  const caughtUp = async () => (await series()).get(`spconnect_source_caught_up{source="${source}"}`);
  assert.equal(await caughtUp(), 1);
  now.kafkaAnsweredMs = now.monotonicMs;
  now.monotonicMs += 80_000;
  assert.equal((await series()).get('spconnect_kafka_silent_seconds'), 80);
  assert.deepEqual([await lag(), await caughtUp()], [undefined, undefined]);
  assert.equal((await series()).get('spconnect_prices_overdue{price="overview"}'), FRESHNESS.overdue);
  const status = async () => (await series()).get(`spconnect_source_status{source="${source}",status="unassigned"}`);
  assert.equal(await status(), 0);
  const err = new ConnectorError('KAFKA_UNREACHABLE', 'no');
  events.attemptFailed({ part: 'replicas', failures: 1, waitMs: 1, err });
  assert.equal(await status(), undefined, 'another replica may run it');
});

const table = Object.entries(METRICS) as [MetricName, MetricDefinition][];

async function afterEverything() {
  const droppedLogLines = () => 3;
  const metrics = statusMetrics({ droppedLogLines });
  everythingHappens(metrics);
  return metrics.text();
}

test('names say what is counted, and in what unit', () => {
  for (const [name, { type }] of table) {
    assert.match(name, /^spconnect(_[a-z0-9]+)+$/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.doesNotMatch(name, /_(ms|millis|milliseconds|minutes|hours|kb|mb|percent)(_|$)/, `${name}: base units only`);
    if (type === 'histogram') assert.match(name, /_(seconds|records|bytes)$/, name);
  }
});

test('each help is a sentence, in one line', () => {
  for (const [name, { help }] of table) assert.match(help, /^[A-Z0-9][^\n]{15,200}\.$/, name);
});

test('every metric is fed by something that happens', async () => {
  const series = [...scraped(await afterEverything())];
  const silent = table.filter(([name, { type }]) => {
    const fed = type === 'histogram' ? `${name}_count` : name;
    return !series.some(([key, value]) => key.replace(/\{.*/, '') === fed && value !== 0);
  });
  const silentNames = silent.map(([name]) => name);
  assert.deepEqual(silentNames, []);
});

test('nothing becomes a label that comes without end: ids, isins, offsets, texts', async () => {
  const text = await afterEverything();
  assert.doesNotMatch(text, /canary/);
  const values = (label: string) =>
    new Set([...text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'))].map((m) => m[1]));
  assert.deepEqual([...values('problem')].sort(), ['mismatch', 'other', 'refused 400', 'status 404']);
});

test('where a table says which values a label has, it has no other', async () => {
  const series = [...scraped(await afterEverything()).keys()];
  for (const [name, { values }] of table) {
    for (const [label, known] of Object.entries(values)) {
      const seen = series
        .filter((key) => key.startsWith(`${name}{`))
        .map((key) => new RegExp(`[{,]${label}="([^"]*)"`).exec(key)?.[1] ?? '');
      assert.ok(seen.length > 0, name);
      const unknown = seen.filter((value) => !known.includes(value));
      assert.deepEqual(unknown, [], `${name}, ${label}`);
    }
  }
});

test('a scrape holds every metric of the table, and describes each', async () => {
  const text = await afterEverything();
  for (const [name, { type, help }] of table) {
    assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`), name);
  }
});
