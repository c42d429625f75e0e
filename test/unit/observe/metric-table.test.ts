import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS, type MetricDefinition, type MetricName } from '../../../src/observe/metric-table.ts';
import { statusMetrics } from '../../support/connectors/status-metrics.ts';
import { scraped } from '../../support/ledgers/scraped.ts';
import { everythingHappens } from './every-event.ts';

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
  assert.deepEqual(
    silent.map(([name]) => name),
    [],
  );
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
      assert.deepEqual(
        seen.filter((value) => !known.includes(value)),
        [],
        `${name}, ${label}`,
      );
    }
  }
});

test('a scrape holds every metric of the table, and describes each', async () => {
  const text = await afterEverything();
  for (const [name, { type, help }] of table) {
    assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`), name);
  }
});
