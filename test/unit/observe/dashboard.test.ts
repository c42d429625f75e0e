import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dashboardText } from '../../../config/grafana/dashboard.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { readAlerts } from '../../support/documents/alerts.ts';
import { unknownNames } from '../../support/documents/promql.ts';

const FOLDER = new URL('../../../config/grafana/', import.meta.url);
const kept = readFileSync(new URL('dashboards/structured-products-connect.json', FOLDER), 'utf8');

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
  assert.deepEqual(
    [...used].filter((name) => !known.has(name)),
    [],
  );
});

test('what an alert looks at is on the dashboard, but for the scrape itself', () => {
  const onDashboard = queries.map(({ expr }) => expr).join(' ');
  for (const { alert, expr } of readAlerts()) {
    const looksAt = [...expr.matchAll(/\b(spconnect|nodejs)_\w+/g)].map(([name]) => name);
    const missing = looksAt.filter((name) => !onDashboard.includes(name));
    assert.deepEqual(missing, [], alert);
  }
});
