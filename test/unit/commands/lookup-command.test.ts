import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HIDDEN_URL, withoutUrl } from '../../../src/commands/shell/record-text.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { providerScene } from './shell/terminal.ts';

const CANARY = 'https://trading.example.com/simulate?ticket=canary-8d1f';

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const parts = await providerScene(t, { instruments: 1, ...options });
  return { ...parts, look: (...args: string[]) => parts.spconnect('lookup', 'check', ...args) };
}

for (const wrappedCheck of [false, true]) {
  test(`a check that comes ${wrappedCheck ? 'in an object of its own' : 'bare'} is printed, its URL only when asked for`, async (t) => {
    const { triggerCheck, look } = await scene(t, { wrappedCheck });
    const { id, instrument, url } = triggerCheck();
    const hidden = await look(id, '--output', 'json');
    assert.deepEqual([hidden.code, hidden.stderr], [0, '']);
    const check = JSON.parse(hidden.stdout);
    assert.deepEqual([check.preTradeCheckId, check.instrument.id, check.simulationUrl], [id, instrument, HIDDEN_URL]);
    assert.ok(!hidden.stdout.includes(url));
    assert.equal(JSON.parse((await look(id, '--output', 'json', '--show-url')).stdout).simulationUrl, url);

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
  const [instrument] = [...simulator.ledger.instruments()];
  // The simulator finds it by an id of its own; the text says that it is another check.
  const other = simulator.triggerCheck(
    instrument?.id ?? '',
    `{"preTradeCheckId":"PTC-1","simulationUrl":"${CANARY}","instrument":${instrument?.text}}`,
  );
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
