import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WholeStatus } from '../../src/admin/status/status.ts';
import { missingNow } from '../../src/dev/demo/demo.ts';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { createMemoryRegistry } from '../support/connectors/memory-scene.ts';
import { startConnector } from '../support/connectors/running-connector.ts';
import { ownKafkaOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { scraped } from '../support/ledgers/scraped.ts';
import { startBrowser } from '../support/runner/browser.ts';
import { findChromium } from '../support/runner/chromium.ts';
import { eventually } from '../support/runner/eventually.ts';
import { runWith } from '../unit/commands/shell/terminal.ts';

const INSTRUMENTS = 60;
const REFRESH_SECONDS = 2;

test('a broker that is frozen: the page says so first, ages grow, and what is not known has no series', async (t) => {
  const chromium = await findChromium();
  const kafka = await ownKafkaOrSkip(t);
  if (!kafka) return;
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 8, port: 0 });
  t.after(() => simulator.close());
  const connector = await startConnector(t, {
    stack: { brokers: kafka.brokers, registryUrl: 'http://127.0.0.1:1' },
    simulator,
    prefix: uniquePrefix('frozen'),
    source: { pollInterval: '1s' },
    more: `marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { refreshInterval: ${REFRESH_SECONDS}s } } }`,
    env: { ADMIN_ENABLED: 'true' },
    overrides: { registry: createMemoryRegistry() },
  });
  const { url } = (await connector.event('adminListening')).fields;
  const status = async () => (await (await fetch(`${url}/status.json`)).json()) as WholeStatus;
  const gauges = async () => scraped(await (await fetch(`${url}/metrics`)).text());
  await eventually('all are priced', status, ({ processor }) => (processor?.freshness?.priced ?? 0) >= INSTRUMENTS);
  await eventually('it is caught up', status, ({ sources }) => sources[0]?.caughtUp === true);
  assert.deepEqual((await status()).alarms, []);
  const page = chromium && (await startBrowser(t, chromium));

  const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of kafka.pids()) process.kill(pid, name);
  };
  // Before the broker is stopped, which would wait for it.
  t.after(() => signal('SIGCONT'));
  signal('SIGSTOP');
  const { processor, sources, alarms, ready } = await eventually('it is noticed', status, (now) => now.kafkaIsSilent);
  assert.match(alarms[0]?.text ?? '', /^Kafka has not answered for \d\d s: nothing is written\.$/);
  assert.equal(ready, false);
  assert.equal(sources[0]?.caughtUp, null);
  assert.match(sources[0]?.caughtUpAt ?? '', /^20\d\d-/);
  assert.deepEqual([processor?.freshness?.priced, processor?.freshness?.overdue], [INSTRUMENTS, INSTRUMENTS]);
  const ageMaxMs = processor?.freshness?.kinds[0]?.ageMaxMs ?? 0;
  assert.ok(ageMaxMs > 9_000, `${ageMaxMs}`);
  const series = await gauges();
  const value = (name: string) => series.get(`spconnect_${name}`);
  assert.ok(Number(value('prices_age_max_seconds{price="overview"}')) > 9);
  assert.equal(value('prices_overdue{price="overview"}'), INSTRUMENTS);
  assert.ok(Number(value('kafka_silent_seconds')) >= 10);
  for (const name of ['source_caught_up{source="instruments"}', 'prices_input_lag']) {
    assert.equal(value(name), undefined, name);
  }
  const isOlder = ({ processor: now }: WholeStatus) => (now?.freshness?.kinds[0]?.ageMaxMs ?? 0) > ageMaxMs + 1_000;
  const later = await eventually('ages go on growing', status, isOlder);
  const [known, before] = [later, { sources }].map((one) => Date.parse(one.sources[0]?.caughtUpAt ?? ''));
  assert.ok(Math.abs((known ?? 0) - (before ?? 0)) < 100, 'as of the same moment');
  const says = /^Not ready: kafka: has not answered since \d\d:\d\d:\d\d UTC$/;
  assert.match((await missingNow(url, new AbortController().signal))[0] ?? '', says);
  const terminal = await runWith(['status', '--url', url]);
  assert.match(terminal.stdout, /: not ready; .*\nKafka has not answered for .*: nothing is written\.\n/);
  assert.match(terminal.stdout, /RUNNING, waiting for Kafka .*\n {2}Stream +caught up as of \d\d:\d\d:\d\d UTC$/m);
  assert.match(terminal.stdout, /^ {2}Input lag +not known$/m);

  if (page === null) return;
  await page.open(`${url}/`);
  const text = (selector: string) => page.evaluate(`document.querySelector('${selector}')?.innerText`);
  const above = await page.evaluate(
    "[...document.querySelectorAll('main > *')].map((element) => element.innerText).slice(0, 2)",
  );
  assert.match(above[1], /^Kafka has not answered for \d\d s: nothing is written\.$/);
  const shown = String(await text('main'));
  assert.match(shown, /caught up as of \d\d:\d\d:\d\d UTC/);
  assert.match(shown, /RUNNING, waiting for Kafka/);
  assert.match(shown, /Input lag\s+not known/);
  assert.match(shown, /Overdue\s+60/);
  assert.equal(await page.evaluate("document.querySelectorAll('.cards .badge.good').length"), 0, 'nothing is green');
  assert.equal(await page.evaluate("document.querySelectorAll('.cards svg .good').length"), 0, 'no bar is green');

  signal('SIGCONT');
  const back = await eventually('it goes on', status, (now) => now.ready && now.alarms.length === 0);
  assert.equal(back.kafkaIsSilent, false);
});
