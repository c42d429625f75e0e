// Brings the compose file up as it is, with all its profiles, and looks at what runs. Images that cannot be pulled are
// replaced by stand-ins under their very names; which they are, and what in them is real, is reported.
//
//   npm run test:compose -- [--install] [--keep]
//
//   --install   root may install Docker with apt-get when it is missing
//   --keep      leaves the stand-ins on a Docker daemon that was there before
//
// Exit codes: 0 all is as it should be, 1 something is not, 3 it cannot run here, and says what is missing.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { cachedFolder, cacheRoot } from '../../src/dev/local-stack/java-artifacts.ts';
import { acceptsConnections } from '../../src/dev/local-stack/probes.ts';
import { ConnectorError } from '../../src/errors.ts';
import { systemClock } from '../../src/support/clock.ts';
import { type Campaign, createCampaign } from './campaign.ts';
import { type ComposeProject, openComposeProject, publishedPorts, readText } from './compose-project.ts';
import { checkConnector } from './connector-checks.ts';
import { type DockerEngine, findDockerEngine } from './docker-engine.ts';
import { eventually, getJson } from './eventually.ts';
import { findProgram, run } from './run.ts';
import { ensureImages, type ImagesAtHand, imagesNeeded } from './stand-ins.ts';

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

async function checkObservability(campaign: Campaign, project: ComposeProject, root: string): Promise<void> {
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

async function checkUi(campaign: Campaign, project: ComposeProject): Promise<void> {
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

const MODULE = 'github.com/docker/compose/v2';
const VERSION = 'v2.40.3';
const BUILD_LIMIT_MS = 1_800_000;

/**
 * The words that begin a compose command: `docker compose` where it is version 2 or later, else a compose that is built
 * with Go, once, and kept in the cache.
 *
 * @throws ConnectorError STACK_UNAVAILABLE when there is neither
 */
async function findCompose(onProgress: (line: string) => void): Promise<readonly string[]> {
  const native = await run('docker', ['compose', 'version', '--short']).catch(() => '');
  if (/^v?([2-9]|\d\d)/.test(native)) return ['docker', 'compose'];
  const folder = join(cacheRoot(process.env), `docker-compose-${VERSION}`);
  const kept = await cachedFolder(folder, async (partial) => {
    const go = await findProgram('go');
    const why = 'there is no docker compose (version 2 or later), and no Go to build it with';
    if (go === undefined) throw new ConnectorError('STACK_UNAVAILABLE', why);
    onProgress(`Building docker compose ${VERSION} with Go, once; this takes some minutes.`);
    return buildCompose(go, partial);
  });
  return [join(kept, 'docker-compose')];
}

/** `go install` refuses a module that excludes versions of others, so that a module of our own must ask for it. */
async function buildCompose(go: string, partial: string): Promise<string> {
  const files = join(partial, 'files');
  await mkdir(files);
  await writeFile(join(partial, 'go.mod'), 'module compose\n\ngo 1.24\n');
  const at = { cwd: partial, limitMs: BUILD_LIMIT_MS };
  await run(go, ['get', `${MODULE}/cmd@${VERSION}`], at);
  const version = `-X ${MODULE}/internal.Version=${VERSION}`;
  await run(go, ['build', '-ldflags', version, '-o', join(files, 'docker-compose'), `${MODULE}/cmd`], at);
  return files;
}

const CANNOT_RUN = 3;
const INTEGRATION_LIMIT_MS = 900_000;
/** Short, and it needs all of the stack: Kafka's transactions, the registry, and readers. */
const INTEGRATION_TEST = 'topic-equals-ledger';

const root = resolve(import.meta.dirname, '../..');
const composeText = readText(root, 'docker-compose.yml');
const { values } = parseArgs({ options: { install: { type: 'boolean' }, keep: { type: 'boolean' } } });
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => interrupted.abort(new Error(`Interrupted by ${name}`)));
}
const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  process.exitCode = await runCampaign();
} catch (error) {
  const isMissing = error instanceof ConnectorError && error.code === 'STACK_UNAVAILABLE';
  if (!isMissing && !interrupted.signal.aborted) throw error;
  say(`\n${isMissing ? 'CANNOT RUN HERE, nothing was shown' : 'Ended early'}: ${(error as Error).message}`);
  process.exitCode = isMissing ? CANNOT_RUN : 1;
}

async function runCampaign(): Promise<number> {
  await portsAreFree();
  const campaign = createCampaign(() => systemClock.monotonicMs(), say, interrupted.signal);
  const engine = await findDockerEngine({ mayInstall: values.install === true });
  let images: ImagesAtHand | undefined;
  try {
    say(
      `Docker ${await engine.docker(['version', '--format', '{{.Server.Version}}'])}, ${engine.isOwn ? 'started here' : 'as found'}`,
    );
    const compose = await findCompose(say);
    const context = { env: process.env, clock: systemClock, onProgress: say, signal: interrupted.signal };
    images = await ensureImages(engine, imagesNeeded(composeText, readText(root, 'Dockerfile')), context);
    say(`Real images: ${images.real.join(', ') || 'NONE'}. Stand-ins: ${images.standIns.join(', ') || 'none'}.`);
    await showCompose(campaign, engine, compose);
    await showLocalStack(campaign);
    say(campaign.report());
    return campaign.failures() === 0 ? 0 : 1;
  } finally {
    if (!engine.isOwn && values.keep !== true) await images?.remove();
    await engine.stop();
  }
}

async function portsAreFree(): Promise<void> {
  for (const port of publishedPorts(composeText)) {
    if (!(await acceptsConnections('127.0.0.1', port))) continue;
    throw new ConnectorError('STACK_UNAVAILABLE', `port ${port}, which the compose file publishes, is in use`);
  }
}

async function showCompose(campaign: Campaign, engine: DockerEngine, compose: readonly string[]): Promise<void> {
  const project = openComposeProject(root, compose, interrupted.signal);
  const down = () => project.compose(['--profile', '*', 'down', '--volumes', '--timeout', '10']);
  const { step, part } = campaign;
  // What a campaign that was killed has left.
  await down();
  try {
    await part('docker compose', async () => {
      await step('the image is built by the Dockerfile', () => project.build());
      await step('`docker compose up --build --wait` returns', () => project.up([], '--build'));
      await checkConnector({ campaign, engine, project, instruments: simulatedInstruments() });
    });
    await part('Profile observability', () => checkObservability(campaign, project, root));
    await part('Profile ui', () => checkUi(campaign, project));
  } finally {
    await down();
  }
  await part('Afterwards', () =>
    step('`docker compose down --volumes` leaves neither container nor volume', async () => {
      const states = await project.states();
      const volumes = await engine.docker([
        'volume',
        'ls',
        '--quiet',
        '--filter',
        `label=com.docker.compose.project=${project.name}`,
      ]);
      if (states.length > 0 || volumes !== '') throw new Error(`${JSON.stringify(states)} ${volumes}`);
    }),
  );
}

/** The local stack of demo and tests, as containers of the same images. */
async function showLocalStack(campaign: Campaign): Promise<void> {
  await campaign.part('The local stack of demo and tests with Docker', () =>
    campaign.step(
      `the integration test ${INTEGRATION_TEST} passes on a Kafka and a registry in containers`,
      async () => {
        const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, ...rest } = process.env;
        const env = { ...rest, CI: 'true', TESTCONTAINERS_RYUK_DISABLED: 'true' };
        const output = await run(process.execPath, ['test/run.ts', INTEGRATION_TEST], {
          cwd: root,
          env,
          limitMs: INTEGRATION_LIMIT_MS,
        });
        // Without Docker it would pass too, with Java.
        if (!output.includes('stack: Docker: starting') || output.includes(' on Java ')) {
          throw new Error(`It was not Docker that started it:\n${output}`);
        }
        return output.split('\n').at(-1);
      },
    ),
  );
}

function simulatedInstruments(): number {
  const { services } = parse(composeText, { merge: true }) as {
    services: { simulator: { command: readonly string[] } };
  };
  const { command } = services.simulator;
  return Number(command[command.indexOf('--instruments') + 1]);
}
