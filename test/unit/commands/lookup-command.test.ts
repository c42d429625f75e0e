import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HIDDEN_URL, withoutUrl } from '../../../src/commands/shell/record-text.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { runWith } from './shell/terminal.ts';

const CANARY = 'https://trading.example.com/simulate?ticket=canary-8d1f';

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const simulator = await createSimulator({ instruments: 1, port: 0, ...options });
  t.after(() => simulator.close());
  const { referenceDataUrl: url, tokenUrl, clientId, clientSecret } = simulator;
  const text = `
referenceData: { url: "${url}", auth: { type: oauth2, tokenUrl: "${tokenUrl}", clientId: "${clientId}", clientSecret: "${clientSecret}" } }
kafka: { brokers: "\${KAFKA_BROKERS}" }
schemaRegistry: { url: "\${SCHEMA_REGISTRY_URL}" }`;
  const file = await settingsFile(t, text);
  return { simulator, look: (...args: string[]) => runWith(['lookup', 'check', ...args, '--config', file]) };
}

function canaryCheck(simulator: Simulator, more = ''): string {
  const [instrument] = [...simulator.ledger.instruments()];
  const { id = '', text = '' } = instrument ?? {};
  const raw = `{"preTradeCheckId":"PTC-1","simulationUrl":"${CANARY}","instrument":${text},"indicativeTrades":[{"quantity":10,"volume":1.000000000000000001}]${more}}`;
  const triggered = simulator.triggerCheck(id, raw);
  // The simulator finds it by an id of its own; the text says which it is.
  return triggered;
}

for (const wrappedCheck of [false, true]) {
  test(`a check that comes ${wrappedCheck ? 'in an object of its own' : 'bare'} is printed, its URL only when asked for`, async (t) => {
    const { simulator, look } = await scene(t, { wrappedCheck });
    const [instrument] = [...simulator.ledger.instruments()];
    const id = simulator.triggerCheck(instrument?.id ?? '');
    const url = /"simulationUrl":"([^"]+)"/.exec([...simulator.ledger.checks()][0]?.text ?? '')?.[1] ?? assert.fail();

    const hidden = await look(id, '--output', 'json');
    assert.deepEqual([hidden.code, hidden.stderr], [0, '']);
    const check = JSON.parse(hidden.stdout);
    assert.equal(check.preTradeCheckId, id);
    assert.equal(check.instrument.id, instrument?.id);
    assert.equal(check.simulationUrl, HIDDEN_URL);
    assert.ok(!hidden.stdout.includes(url));

    const shown = await look(id, '--output', 'json', '--show-url');
    assert.equal(JSON.parse(shown.stdout).simulationUrl, url);

    const table = await look(id);
    assert.match(table.stdout, new RegExp(`^preTradeCheckId +${id}$`, 'm'));
    assert.match(table.stdout, /^indicativeTrades\[1\]\.quantity +20\b/m);
    assert.ok(!table.stdout.includes(url) && table.stdout.includes(HIDDEN_URL));
    assert.ok((await look(id, '--show-url')).stdout.includes(url));
  });
}

test('a check that does not exist is said so, with exit code 1', async (t) => {
  const { look } = await scene(t);
  const { code, stdout, stderr } = await look('PTC-none');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /no pre-trade check with this id/);
});

test('no message about a check that cannot be used quotes its URL', async (t) => {
  const { simulator, look } = await scene(t);
  const other = canaryCheck(simulator);
  const answers = [
    await look(other),
    await look(other, '--show-url', '--output', 'json'),
    await look(simulator.triggerCheck('1', `{"preTradeCheckId":"PTC-1","simulationUrl":["${CANARY}"]}`)),
    await look(simulator.triggerCheck('1', `{"preTradeCheckId":"PTC-1","simulationUrl":"${CANARY}`)),
    await look(simulator.triggerCheck('1', `["${CANARY}"]`)),
  ];
  for (const { code, stdout, stderr } of answers) {
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^BODY_MALFORMED: /);
    assert.ok(!stderr.includes('canary'), stderr);
  }
});

test('the URL is hidden wherever it stands', () => {
  const check = {
    preTradeCheckId: 'PTC-1',
    simulationUrl: CANARY,
    indicativeTrades: [{ reference: `see ${CANARY}`, volume: '1' }],
    extras: { '/links/again': JSON.stringify(CANARY), '/indicativeTrades/0/simulationUrl': '"https://other.example"' },
  };
  const hidden = JSON.stringify(withoutUrl(check));
  assert.ok(!hidden.includes('canary') && !hidden.includes('other.example'), hidden);
  assert.equal(withoutUrl({ simulationUrl: null, a: 'b' }).simulationUrl, null);
});

for (const [what, args] of Object.entries({
  'no id': [],
  'a path in place of an id': ['..'],
  'an unknown form': ['PTC-1', '--output', 'xml'],
})) {
  test(`${what} is refused with exit code 2`, async () => {
    const { code, stdout } = await runWith(['lookup', 'check', ...args]);
    assert.deepEqual([code, stdout], [2, '']);
  });
}
