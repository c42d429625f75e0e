import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Endpoint, Fault, FaultRule } from '../../src/dev/simulator/faults/fault.ts';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { connectorEnvironment, startProcess } from '../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../support/connectors/settings-file.ts';
import { kafkaOrSkip, readCommitted } from '../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { scraped } from '../support/ledgers/scraped.ts';

const PATIENCE_MS = 300_000;
const SECRET = 'canary+secret/7f3a';
const ADMIN_TOKEN = 'canary-admin-91c2';
const TRADE_URL = 'https://trading.example.com/simulate/canary-ticket-5d10';
/** Every secret as it is, in a URL, and in base64; and the tokens that the simulated provider issues. */
const HELD_BACK = [
  ...[SECRET, ADMIN_TOKEN, 'canary-ticket-5d10'].flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]),
  Buffer.from(`client:${encodeURIComponent(SECRET)}`)
    .toString('base64')
    .replace(/=+$/, ''),
  /simulated-[0-9a-f]{8}-/,
];

const SETTINGS = `
prefix: \${TOPIC_PREFIX}
referenceData:
  url: \${REFERENCE_DATA_URL}
  requestsPerSecond: 1000
  auth: { type: oauth2, tokenUrl: "\${AUTH_TOKEN_URL}", clientId: "\${CLIENT_ID}", clientSecret: "\${CLIENT_SECRET}" }
marketData: { url: "\${MARKET_DATA_URL}", requestsPerSecond: 1000 }
kafka: { brokers: "\${KAFKA_BROKERS}" }
schemaRegistry: { url: "\${SCHEMA_REGISTRY_URL}" }
admin: { port: 0, token: "\${ADMIN_TOKEN}" }
log: { level: debug }
prices: { enabled: true, from: [instruments], maxItems: 20, kinds: { overview: { refreshInterval: 1s } } }
sources:
  - { name: instruments, type: instruments, limit: 10, pollInterval: 100ms, handoffMargin: 50ms }
  - { name: checks, type: pre-trade-checks, pollInterval: 100ms }
`;

const refusal = (status: number): Fault => {
  return { kind: 'status', status, body: `{"title":"${SECRET}","detail":"Bearer ${SECRET}"}` };
};
/** A provider that returns what it was given in confidence, in every place of an answer that fails. */
const ECHOES: readonly Fault[] = [
  refusal(503),
  { kind: 'body', body: `<html>${SECRET}</html>`, contentType: `text/html; ${SECRET}` },
  { kind: 'body', body: `{"instruments":[],"links":{"next":"https://${SECRET}@example.com/${SECRET}"},"x":${SECRET}` },
  { kind: 'links', how: 'url', url: `https://example.com/v1/instruments?minId=${SECRET}` },
  { kind: 'cutJson' },
  { kind: 'expireTokens' },
];
/** What is asked again after seconds only: each once. */
const SLOW_ECHOES: readonly (readonly [Endpoint, Fault])[] = [
  ['bulk', { kind: 'redirect', status: 302, location: `https://u:${SECRET}@example.com/?token=${SECRET}` }],
  ['pre-trade-checks', refusal(403)],
  ['bulk', refusal(400)],
];
const ENDPOINTS: readonly Endpoint[] = ['instruments', 'events', 'pre-trade-checks', 'bulk'];
/** A good answer between two bad ones, so that no wait grows. */
const FAULTS: readonly FaultRule[] = [
  ...ENDPOINTS.flatMap((match) => ECHOES.map((fault, index) => ({ match, nth: 2 * index + 2, fault }))),
  ...SLOW_ECHOES.map(([match, fault], index) => ({ match, nth: 2 * (ECHOES.length + index) + 2, fault })),
  {
    match: 'token',
    nth: 2,
    fault: { kind: 'body', status: 400, body: `{"error":"${SECRET}","error_description":"${SECRET}"}` },
  },
];
const PAGES = [
  '/',
  '/status.json',
  '/readyz?verbose',
  '/metrics',
  '/connectors?expand=info&expand=status',
  '/connectors/instruments/config',
  '/connectors/checks/config',
  '/connectors/checks/status',
  '/connectors/none/status',
];

test('no secret leaves through the log, the metrics, the status page or a topic', { timeout: 1_200_000 }, async (t) => {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return;
  const prefix = uniquePrefix('canary');
  const simulator = await createSimulator({
    instruments: 120,
    port: 0,
    clientId: 'client',
    clientSecret: SECRET,
    faults: FAULTS,
  });
  t.after(() => simulator.close());
  simulator.triggerCheck('1000001', `{"preTradeCheckId":"good","simulationUrl":"${TRADE_URL}"}`);
  simulator.triggerCheck('1000001', `{"preTradeCheckId":"bad","simulationUrl":["${TRADE_URL}"]}`);
  const env = { TOPIC_PREFIX: prefix, MARKET_DATA_URL: simulator.marketDataUrl, ADMIN_TOKEN };
  const file = await settingsFile(t, SETTINGS);
  const connector = startProcess(MAIN, ['run', '--config', file], connectorEnvironment(stack, simulator, env));
  t.after(() => connector.child.kill('SIGKILL'));
  const { url } = JSON.parse(await connector.line('admin server listens')) as { url: string };

  // Of the requests only the newest are kept: on a slow machine those that were struck are soon not among them.
  const struck = () => Object.values(simulator.faultsStruck()).reduce((sum, count) => sum + count, 0);
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  while (struck() < FAULTS.length) {
    assert.ok(!deadline.aborted, `${struck()} of ${FAULTS.length} faults have struck`);
    if (struck() % 5 === 0) simulator.publish({ kind: 'datachange', id: '1000001' });
    await pause(50);
  }
  await connector.line('walk completed');
  await connector.line('batch priced');
  await connector.line('"record":"check"');

  const shown: string[] = [];
  for (const page of PAGES) {
    for (const headers of [{}, { authorization: `Bearer ${ADMIN_TOKEN}` }, { authorization: 'Bearer wrong' }]) {
      const answer = await fetch(new URL(page, url), { headers });
      shown.push(`${page} ${JSON.stringify([...answer.headers])} ${await answer.text()}`);
    }
  }
  const refused = await fetch(new URL(`/connectors/${encodeURIComponent(SECRET)}/pause`, url), { method: 'PUT' });
  assert.equal(refused.status, 401);
  const scrape = shown.find((text) => text.startsWith('/metrics')) ?? '';
  const failed = [...scraped(scrape)].filter(([key, value]) => key.includes('_failures_total') && value > 0);
  assert.ok(failed.length > 5, 'the faults are in the metrics');
  connector.child.kill('SIGTERM');
  await connector.ended;

  const names = ['instruments', 'instrument-events', 'notifications', 'dead-letters', 'offsets', 'states', 'prices'];
  for (const name of [...names, 'pre-trade-checks']) {
    const partitions = { offsets: 25, notifications: 1, 'dead-letters': 1, states: 1 }[name] ?? 6;
    const records = await readCommitted(
      kafka,
      `${prefix}.${name}`,
      Array.from({ length: partitions }, (_, n) => n),
    );
    for (const { key, value, headers } of records) {
      const inValue = name === 'pre-trade-checks' ? String(value).replaceAll(TRADE_URL, '') : String(value);
      shown.push(`${name} ${key} ${JSON.stringify(headers)} ${inValue}`);
    }
  }
  const everything = [...shown, ...connector.lines].join('\n');
  assert.ok(shown.length > 200 && connector.lines.length > 100);
  for (const secret of HELD_BACK) {
    const at = typeof secret === 'string' ? everything.indexOf(secret) : everything.search(secret);
    assert.equal(at, -1, `${secret} in: ${everything.slice(Math.max(0, at - 300), at + 100)}`);
  }
});
