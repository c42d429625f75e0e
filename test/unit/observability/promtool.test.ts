import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { ROWS } from '../../../config/grafana/panels.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { promtoolOrSkip } from '../../support/promtool.ts';
import { everythingHappens } from './every-event.ts';

const FOLDER = join(import.meta.dirname, '../../../config/prometheus');

async function passes(t: TestContext, args: readonly string[], input?: string): Promise<void> {
  const promtool = await promtoolOrSkip(t);
  if (!promtool) return;
  const { code, output } = await promtool.check(args, input);
  assert.equal(code, 0, output);
}

test('promtool finds nothing against a scrape', async (t) => {
  const metrics = createMetrics({ version: '1.2.3', sources: ['instruments'], clock: systemClock });
  everythingHappens(metrics);
  await passes(t, ['check', 'metrics'], await metrics.text());
});

test('promtool finds nothing against the scrape settings and the alert rules', async (t) => {
  await passes(t, ['check', 'config', join(FOLDER, 'prometheus.yml')]);
});

test('promtool understands every query of the dashboard', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'promtool-'));
  t.after(() => rm(folder, { recursive: true }));
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
