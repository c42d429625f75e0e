import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { ROWS } from '../../config/grafana/panels.ts';
import { statusMetrics } from '../support/connectors/status-metrics.ts';
import { promtoolOrSkip } from '../support/documents/promtool.ts';
import { scraped } from '../support/ledgers/scraped.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { everythingHappens } from '../unit/observe/every-event.ts';

const FOLDER = join(import.meta.dirname, '../../config/prometheus');

async function passes(t: TestContext, args: readonly string[], input?: string): Promise<void> {
  const promtool = await promtoolOrSkip(t);
  if (!promtool) return;
  const { code, output } = await promtool.check(args, input);
  assert.equal(code, 0, output);
}

test('promtool finds nothing against a scrape', async (t) => {
  const metrics = statusMetrics();
  everythingHappens(metrics);
  await passes(t, ['check', 'metrics'], await metrics.text());
});

test('promtool finds nothing against the scrape settings and the alert rules', async (t) => {
  await passes(t, ['check', 'config', join(FOLDER, 'prometheus.yml')]);
});

test('promtool understands every query of the dashboard', async (t) => {
  const folder = temporaryFolder(t);
  const expressions = ROWS.flatMap(({ panels }) => panels).flatMap(({ queries }) => queries.map(([expr]) => expr));
  const rules = expressions.map((expr, index) => ({
    record: `query:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  const file = join(folder, 'queries.yml');
  await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  await passes(t, ['check', 'rules', file]);
});

test('every alert fires when it should and not before', async (t) => {
  await passes(t, ['test', 'rules', join(FOLDER, 'alerts.test.yml'), join(FOLDER, 'alerts-slow.test.yml')]);
});

/** A scrape as time series that stay as they are for so many minutes; what is a time goes on with time. */
function asSeries(scrape: string, minutes: number): { readonly series: string; readonly values: string }[] {
  return [...scraped(scrape)].map(([key, value]) => {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(key) ?? [];
    const own = [labels, 'job="structured-products-connect"', 'instance="connector:8083"'].filter(Boolean).join(',');
    const step = name.endsWith('_timestamp_seconds') ? 60 : 0;
    return { series: `${name}{${own}}`, values: `${value}+${step}x${minutes}` };
  });
}

test('no alert fires for what is off: prices, and every source type but one', async (t) => {
  const [minutes, source] = [24 * 60, 'checks'];
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const metrics = statusMetrics({ sources: [source], type: 'pre-trade-checks', prices: false, clock });
  metrics.events.sourceStarted({ source, since: '1-1', secondsToRetentionCliff: null } as never);
  const place = { since: '1-1', secondsToRetentionCliff: null, rows: 0, caughtUp: true, durationMs: 1 };
  metrics.events.polled({ source, ...place, endpoint: 'pretradechecks' } as never);
  const input = [
    ...asSeries(await metrics.text(), minutes),
    { series: 'up{job="structured-products-connect"}', values: `1x${minutes}` },
  ];
  const quiet = { expr: 'ALERTS{alertstate="firing"}', eval_time: `${minutes - 1}m`, exp_samples: [] };
  const tests = [{ interval: '1m', input_series: input, promql_expr_test: [quiet] }];
  const folder = temporaryFolder(t);
  const file = join(folder, 'off.test.yml');
  await writeFile(file, stringify({ rule_files: [join(FOLDER, 'alerts.yml')], evaluation_interval: '5m', tests }));
  await passes(t, ['test', 'rules', file]);
});
