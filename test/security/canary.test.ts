import assert from 'node:assert/strict';
import type { Endpoint, Fault, FaultRule } from '../../src/dev/simulator/faults/fault.ts';
import { testInstallation } from '../support/connectors/installation.ts';
import { scraped } from '../support/ledgers/scraped.ts';
import { eventually } from '../support/runner/eventually.ts';

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

const SCENE = {
  simulator: { instruments: 120, clientId: 'client', clientSecret: SECRET },
  source: [{ limit: 10 }, { name: 'checks', type: 'pre-trade-checks' }],
  prices: '{ enabled: true, from: [instruments], maxItems: 20, kinds: { overview: { refreshInterval: 1s } } }',
  env: { ADMIN_ENABLED: 'true', ADMIN_TOKEN, LOG_LEVEL: 'debug' },
};

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
  ...ENDPOINTS.flatMap((match) => {
    const echoes = ECHOES.filter(({ kind }) => kind !== 'links' || match !== 'bulk');
    return echoes.map((fault, index) => ({ match, nth: 2 * index + 2, fault }));
  }),
  ...SLOW_ECHOES.map(([match, fault], index) => ({ match, nth: 2 * (ECHOES.length + index) + 2, fault })),
  {
    match: 'token',
    nth: 2,
    fault: { kind: 'body', status: 400, body: `{"error":"${SECRET}","error_description":"${SECRET}"}` },
  },
];
const CONNECTORS = ['instruments/config', 'checks/config', 'checks/status', 'none/status'];
const PAGES = [
  ...['/', '/status.json', '/readyz?verbose', '/metrics', '/connectors?expand=info&expand=status'],
  ...CONNECTORS.map((path) => `/connectors/${path}`),
];

testInstallation('no secret leaves through the log, the metrics, the status page or a topic', SCENE, async (_t, at) => {
  const { simulator } = at;
  simulator.injectFaults(FAULTS);
  simulator.triggerCheck('1000001', `{"preTradeCheckId":"good","simulationUrl":"${TRADE_URL}"}`);
  simulator.triggerCheck('1000001', `{"preTradeCheckId":"bad","simulationUrl":["${TRADE_URL}"]}`);
  const connector = at.startProcess('run');
  const { url } = JSON.parse(await connector.line('admin server listens')) as { url: string };

  // Of the requests only the newest are kept: on a slow machine those that were struck are soon not among them.
  const struck = () => Object.values(simulator.faultsStruck()).reduce((sum, count) => sum + count, 0);
  await eventually(
    'every fault has struck',
    () => {
      if (struck() % 5 === 0) simulator.publish({ kind: 'datachange', id: '1000001' });
      return struck();
    },
    (count) => count >= FAULTS.length,
  );
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

  for (const name of Object.keys(at.plan).filter((role) => !/^(daily|intraday)-/.test(role))) {
    for (const { key, value, headers } of await at.read(name)) {
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
