import assert from 'node:assert/strict';
import type { Campaign } from './campaign.ts';
import { type ComposeProject, readText } from './compose-project.ts';
import { eventually, getJson } from './eventually.ts';

const PROMETHEUS = 'http://127.0.0.1:9090/api/v1';
const GRAFANA = 'http://127.0.0.1:3000/api';
const UI = 'http://127.0.0.1:8080/api/clusters/local';
/** A scrape comes every 15 s. */
const SCRAPED_LIMIT_MS = 120_000;
const DASHBOARD = 'config/grafana/dashboards/structured-products-connect.json';

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

export async function checkObservability(campaign: Campaign, project: ComposeProject, root: string): Promise<void> {
  const { step } = campaign;
  const dashboard = JSON.parse(readText(root, DASHBOARD)) as Dashboard;
  await step('the profile observability comes up healthy, and leaves what runs alone', async () => {
    const own = () => Promise.all(['simulator', 'connector'].map((service) => project.container(service)));
    const before = await own();
    await project.up(['observability']);
    assert.deepEqual(await own(), before);
  });
  await step('Prometheus scrapes the connector', () =>
    eventually(async () => {
      const { data } = await getJson<{
        data: { activeTargets: readonly { health: string; scrapeUrl: string; lastError: string }[] };
      }>(`${PROMETHEUS}/targets`);
      assert.ok(data.activeTargets.length > 0);
      for (const { health, scrapeUrl, lastError } of data.activeTargets)
        assert.equal(health, 'up', `${scrapeUrl} ${lastError}`);
      return data.activeTargets.map(({ scrapeUrl }) => scrapeUrl).join(', ');
    }, SCRAPED_LIMIT_MS),
  );
  await step('every alert rule is loaded and evaluated without an error', () =>
    eventually(async () => {
      const { data } = await getJson<{ data: { groups: readonly { rules: readonly Rule[] }[] } }>(
        `${PROMETHEUS}/rules`,
      );
      const rules = data.groups.flatMap((group) => group.rules);
      const written = readText(root, 'config/prometheus/alerts.yml').match(/^\s*- alert: /gm)?.length;
      assert.equal(rules.length, written);
      const failing = rules.filter(({ health }) => health !== 'ok');
      assert.deepEqual(failing, []);
      return `${rules.length} rules`;
    }, SCRAPED_LIMIT_MS),
  );
  await step('a metric of the connector can be queried', () =>
    eventually(async () => {
      const [first] = await query('spconnect_source_status{status="running",source="instruments"}');
      assert.equal(first?.value[1], '1');
    }, SCRAPED_LIMIT_MS),
  );
  await step("Prometheus understands each of the dashboard's queries", async () => {
    const targets = dashboard.panels.flatMap(({ targets = [] }) => targets);
    const answered = await Promise.all(targets.map(({ expr }) => query(withVariables(expr))));
    const withData = answered.filter((series) => series.length > 0).length;
    assert.ok(withData > targets.length / 3, `only ${withData} of ${targets.length} have data`);
    return `${targets.length} queries, ${withData} with data`;
  });
  await step('Grafana has the dashboard', async () => {
    const found = await getJson<readonly { readonly uid: string }[]>(`${GRAFANA}/search?type=dash-db`);
    const uids = found.map(({ uid }) => uid);
    assert.deepEqual(uids, [dashboard.uid]);
  });
}

export async function checkUi(campaign: Campaign, project: ComposeProject): Promise<void> {
  await campaign.step('the profile ui comes up healthy', () => project.up(['ui']));
  await campaign.step('the Kafka UI sees the sources of the connector as connectors', async () => {
    const names = await getJson<readonly string[]>(`${UI}/connects/structured-products-connect/connectors`);
    assert.ok(names.includes('instruments'), names.join(', '));
    return names.join(', ');
  });
}

async function query(expression: string): Promise<readonly { readonly value: readonly [number, string] }[]> {
  const { data } = await getJson<{ data: { result: readonly { readonly value: readonly [number, string] }[] } }>(
    `${PROMETHEUS}/query?query=${encodeURIComponent(expression)}`,
  );
  return data.result;
}

/** What Grafana would put in: everything, over a minute. */
function withVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replace(/\$\w+/g, '.+');
}
