import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { readAlerts } from '../../support/alerts.ts';
import { unknownNames } from '../../support/promql.ts';

const FOLDER = new URL('../../../config/prometheus/', import.meta.url);
const alerts = readAlerts();

interface RuleTest {
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[];
}

test('every alert asks for metrics and labels that exist', async () => {
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'], clock: systemClock }).text();
  for (const { alert, expr } of alerts) assert.deepEqual(unknownNames(expr, scrape), [], alert);
});

test('a metric or a label that does not exist is noticed', async () => {
  const scrape = await createMetrics({ version: '1.2.3', sources: ['instruments'], clock: systemClock }).text();
  assert.deepEqual(unknownNames('sum by (job, isin) (rate(spconnect_polls[5m]))', scrape), [
    'metric spconnect_polls',
    'label isin',
  ]);
  assert.deepEqual(unknownNames('spconnect_polls_total{partition="1"} > 0', scrape), ['label partition']);
  assert.deepEqual(unknownNames('spconnect_poll_duration_seconds', scrape), ['metric spconnect_poll_duration_seconds']);
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
  const readme = readFileSync(new URL('README.md', FOLDER), 'utf8');
  const headings = [...readme.matchAll(/^## (\w+)$/gm)].map((match) => match[1]);
  assert.deepEqual(
    headings,
    alerts.map(({ alert }) => alert),
  );
});

test('every alert is tested, firing and not', () => {
  const { tests } = parse(readFileSync(new URL('alerts.test.yml', FOLDER), 'utf8')) as { tests: readonly RuleTest[] };
  const asked = tests.flatMap((each) => each.promql_expr_test);
  for (const { alert } of alerts) {
    const own = asked.filter(({ expr }) => expr === `ALERTS{alertname="${alert}", alertstate="firing"}`);
    assert.ok(
      own.some(({ exp_samples: fired }) => fired.length > 0),
      `${alert} never fires`,
    );
    assert.ok(
      own.some(({ exp_samples: fired }) => fired.length === 0),
      `${alert} always fires`,
    );
  }
});
