import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { dashboardText } from '../../../config/grafana/dashboard.ts';
import { ROWS } from '../../../config/grafana/panels.ts';
import { ERROR_CODES } from '../../../src/errors.ts';
import { METRICS, type MetricDefinition } from '../../../src/observe/metric-table.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { documentedCommands } from '../../support/documents/readme-commands.ts';

/** What Prometheus adds to every series, and to buckets. */
const EVERYWHERE = ['job', 'instance', 'le'];
/** What Prometheus itself writes about each target. */
const OF_PROMETHEUS = ['up'];

const WORDS = new Set(
  (
    'abs absent absent_over_time and avg avg_over_time bool by ceil changes clamp clamp_min clamp_max count delta deriv floor ' +
    'group_left group_right histogram_quantile ignoring increase irate label_replace max max_over_time min min_over_time offset ' +
    'on or quantile quantile_over_time rate resets round sort sort_desc sum sum_over_time time topk bottomk unless vector without'
  ).split(' '),
);

/**
 * What is wrong with the names in a query: metrics that no scrape has, and labels that the metrics of the query lack.
 *
 * @param scrape the text of a scrape, whose metrics are those that exist
 */
function unknownNames(query: string, scrape: string): string[] {
  const existing = new Set(
    [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) => withSuffixes(name, type)),
  );
  const bare = query
    .replace(/"[^"]*"/g, '""')
    .replace(/\$[a-z_]+/gi, '')
    .replace(/\[[^\]]*\]/g, '');
  const labels = [
    ...[...bare.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) =>
      [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((m) => m[1] ?? ''),
    ),
    ...[...bare.matchAll(/\b(?:by|on|ignoring|without)\s*\(([^)]*)\)/g)].flatMap(([, inside = '']) =>
      inside.split(',').map((name) => name.trim()),
    ),
  ];
  const metrics = [
    ...bare
      .replace(/\{[^}]*\}/g, '')
      .replace(/\b(?:by|on|ignoring|without)\s*\([^)]*\)/g, '')
      .matchAll(/\b([a-z_:][a-z0-9_:]*)\b/gi),
  ]
    .map((match) => match[1] ?? '')
    .filter((name) => !WORDS.has(name));
  const known = new Set([...EVERYWHERE, ...metrics.flatMap(labelsOf)]);
  return [
    ...metrics.filter((name) => !existing.has(name) && !OF_PROMETHEUS.includes(name)).map((name) => `metric ${name}`),
    ...labels.filter((name) => name !== '' && !known.has(name)).map((name) => `label ${name}`),
    ...(metrics.length === 0 ? ['no metric at all'] : []),
  ];
}

function withSuffixes(name: string, type: string | undefined): readonly string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
}

function labelsOf(series: string): readonly string[] {
  const definitions: Readonly<Record<string, MetricDefinition>> = METRICS;
  const definition = definitions[series] ?? definitions[series.replace(/_(bucket|sum|count)$/, '')];
  // The library's own that have labels.
  if (definition === undefined) return series.startsWith('nodejs_') ? ['space', 'kind', 'type'] : [];
  return definition.labels;
}

const ALERTS_FILE = new URL('../../../config/prometheus/alerts.yml', import.meta.url);

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The alert rules for Prometheus, in their order. */
function readAlerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: readonly { rules: readonly Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

const FOLDER = new URL('../../../config/prometheus/', import.meta.url);
const alerts = readAlerts();
const readme = readFileSync(new URL('README.md', FOLDER), 'utf8');
const runbook = readme.split(/^(?=## )/m).find((section) => section.startsWith('## Runbook\n')) ?? '';

interface RuleTest {
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[];
}

test('every alert asks for metrics and labels that exist', async () => {
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'] }).text();
  for (const { alert, expr } of alerts) assert.deepEqual(unknownNames(expr, scrape), [], alert);
});

test('a metric or a label that does not exist is noticed', async () => {
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'] }).text();
  assert.deepEqual(unknownNames('sum by (job, isin) (rate(spconnect_polls[5m]))', scrape), [
    'metric spconnect_polls',
    'label isin',
  ]);
  assert.deepEqual(unknownNames('spconnect_poll_failures_total{partition="1"} > 0', scrape), ['label partition']);
  assert.deepEqual(unknownNames('spconnect_commit_duration_seconds', scrape), [
    'metric spconnect_commit_duration_seconds',
  ]);
  assert.deepEqual(unknownNames('time() > 5', scrape), ['no metric at all']);
});

test('every alert says how severe it is, what happened, and where its paragraph is', () => {
  assert.ok(alerts.length > 15);
  for (const { alert, labels, annotations } of alerts) {
    assert.match(labels.severity ?? '', /^(critical|warning|info)$/, alert);
    assert.match(annotations.summary ?? '', /^[A-Z][^.]{10,80}$/, alert);
    assert.match(annotations.description ?? '', /^.{20,200}\.$/, alert);
    assert.equal(annotations.runbook, `config/prometheus/README.md#${alert.toLowerCase()}`);
  }
});

test('every alert has its paragraph, and every paragraph its alert', () => {
  const headings = [...runbook.matchAll(/^### (\w+)$/gm)].map((match) => match[1]);
  const names = alerts.map(({ alert }) => alert);
  assert.deepEqual(headings, names);
});

test('what the paragraphs name is there: commands, metrics, panels, error codes', async () => {
  const [, ...paragraphs] = runbook.split(/^(?=### )/m);
  const text = paragraphs.join('');
  const named = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))];
  const commands = await documentedCommands();
  for (const command of named(/`spconnect ([a-z][^`]*)`/g)) {
    const found = commands.find(({ path }) => `${command} `.startsWith(`${path} `));
    assert.ok(found, command);
    for (const [option] of command.matchAll(/--[a-z-]+/g)) assert.ok(found.options.includes(option), command);
  }
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'] }).text();
  for (const metric of named(/`[^`]*(spconnect_\w+)[^`]*`/g))
    assert.match(scrape, new RegExp(`^# TYPE ${metric} `, 'm'));
  const titles = ROWS.flatMap(({ panels }) => panels).map(({ title }) => title);
  for (const panels of named(/\bpanels? ((?:(?:, | and )?"[^"]+")+)/g)) {
    for (const [, panel = ''] of panels.matchAll(/"([^"]+)"/g)) assert.ok(titles.includes(panel), panel);
  }
  for (const code of named(/`([A-Z]+(?:_[A-Z]+)+)`/g)) {
    assert.ok(code in ERROR_CODES || code === 'TOPIC_PREFIX', code);
  }
  // An operator who is called at night needs something to do.
  for (const paragraph of paragraphs.slice(1)) assert.match(paragraph, /`|\bsee [A-Z]/, paragraph);
});

test('every alert is tested, firing and not', () => {
  const files = ['alerts.test.yml', 'alerts-slow.test.yml'].map((name) => readFileSync(new URL(name, FOLDER), 'utf8'));
  const tests = files.flatMap((text) => (parse(text) as { readonly tests: readonly RuleTest[] }).tests);
  const asked = tests.flatMap((each) => each.promql_expr_test);
  for (const { alert } of alerts) {
    const own = asked.filter(({ expr }) => expr === `ALERTS{alertname="${alert}", alertstate="firing"}`);
    const everFires = own.some(({ exp_samples: fired }) => fired.length > 0);
    assert.ok(everFires, `${alert} never fires`);
    const everRests = own.some(({ exp_samples: fired }) => fired.length === 0);
    assert.ok(everRests, `${alert} always fires`);
  }
});

const DASHBOARDS = new URL('../../../config/grafana/', import.meta.url);
const kept = readFileSync(new URL('dashboards/structured-products-connect.json', DASHBOARDS), 'utf8');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const { panels, templating } = JSON.parse(kept) as {
  panels: readonly Panel[];
  templating: { list: readonly { name: string; query: string | { query: string } }[] };
};
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));

test('the dashboard is the one that its panels make', () => {
  assert.equal(kept, dashboardText(), 'run node config/grafana/dashboard.ts');
});

test('every query asks for metrics and labels that exist', async () => {
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'] }).text();
  for (const { title, expr } of queries) assert.deepEqual(unknownNames(expr, scrape), [], `${title}: ${expr}`);
  for (const { query } of templating.list.slice(1)) {
    const [, expr = '', label] =
      /^label_values\((.*), (\w+)\)$/.exec(typeof query === 'string' ? query : query.query) ?? [];
    assert.deepEqual(unknownNames(`sum by (${label}) (${expr})`, scrape), []);
  }
});

test('every series is called by labels that its query keeps', () => {
  for (const { title, expr, legendFormat } of queries) {
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '');
    const by = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(/, ?/);
    const isWhole = !/^(sum|min|max|histogram_quantile|time)\b/.test(expr);
    for (const label of named) assert.ok(isWhole || by?.includes(label), `${title}: ${legendFormat} of ${expr}`);
  }
});

test('every variable of a query is one of the dashboard, or one of Grafana', () => {
  const known = new Set([...templating.list.map(({ name }) => `$${name}`), '$__rate_interval', '$__all']);
  const used = new Set([...kept.matchAll(/\$\w+/g)].map(([name]) => name));
  const unknown = [...used].filter((name) => !known.has(name));
  assert.deepEqual(unknown, []);
});

test('what an alert looks at is on the dashboard, but for the scrape itself', () => {
  const onDashboard = queries.map(({ expr }) => expr).join(' ');
  for (const { alert, expr } of readAlerts()) {
    const looksAt = [...expr.matchAll(/\b(spconnect|nodejs)_\w+/g)].map(([name]) => name);
    const missing = looksAt.filter((name) => !onDashboard.includes(name));
    assert.deepEqual(missing, [], alert);
  }
});
