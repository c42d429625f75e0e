import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { providerScene } from './shell/terminal.ts';

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const parts = await providerScene(t, { instruments: 30, ...options });
  return {
    ...parts,
    async previewed(...args: string[]) {
      const { code, stdout, stderr } = await parts.spconnect('preview', ...args, '--output', 'json');
      assert.equal(code, 0, stderr);
      return { stderr, stdout, records: stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
    },
  };
}

test('an event is printed as its two records', async (t) => {
  const { simulator, previewed } = await scene(t);
  assert.match((await previewed('instruments', '--from', '0-0')).stderr, /no rows, events or checks at this position/);
  simulator.change(4);
  const { records } = await previewed('instruments', '--from', '0-0', '--limit', '1');
  assert.deepEqual(
    records.map(({ topic, value }) => [topic, 'instrument' in value]),
    [
      ['p.instrument-events', true],
      ['p.instruments', false],
    ],
  );
});

test('what would be a dead letter is printed as one, and no control character comes through', async (t) => {
  const edit = [{ pointer: '/issuePrice', value: '"\\u001b[2J\\u009b\u202e"' }];
  const { previewed } = await scene(t, {
    faults: [{ match: 'instruments', fault: { kind: 'poison', rows: [1], how: { edit } } }],
  });
  const { records, stdout } = await previewed('instruments', '--limit', '2');
  assert.equal(records[1].topic, 'p.dead-letters');
  assert.deepEqual(records[1].deadLetter.pointer, '/issuePrice');
  assert.match(records[1].value, /"issuePrice"/);
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]|\u202e/u);
});

test('the URL of a check is printed only when asked for', async (t) => {
  const { triggerCheck, previewed } = await scene(t);
  const { id, url } = triggerCheck();
  const hidden = await previewed('pre-trade-checks');
  assert.equal(hidden.records[0].key, id);
  assert.ok(!hidden.stdout.includes(url));
  assert.equal((await previewed('pre-trade-checks', '--show-url')).records[0].value.simulationUrl, url);
});

test('people get a line for each record, its fields below it, and why it would be a dead letter', async (t) => {
  const edit = [{ pointer: '/issuePrice', value: '"\\u001b[2J"' }];
  const { simulator, spconnect } = await scene(t, {
    faults: [{ match: 'instruments', fault: { kind: 'poison', rows: [0], how: { edit } } }],
  });
  const [first, second] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
  const { stdout } = await spconnect('preview', 'instruments', '--limit', '2');
  assert.match(stdout, new RegExp(`^p\\.dead-letters, key ${first}, .+ at /issuePrice\\n {2}\\{"id":${first},`));
  assert.match(stdout, new RegExp(`\\n\\np\\.instruments, key ${second}\\n {2}id +${second}\\n`));
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]| null$/mu);
});

test('an offset that has expired is refused with what to give in its place, and no word of the URL or the filter', async (t) => {
  const { simulator, spconnect } = await scene(t);
  simulator.publish({ kind: 'datachange' });
  const [event] = [...simulator.ledger.events()];
  simulator.publish({ kind: 'datachange' });
  simulator.advanceClock(8 * 86_400_000);
  const from = `${Number(event?.offset.split('-')[0]) - 1}-0`;
  const { code, stderr } = await spconnect('preview', 'instruments', '--from', from);
  assert.equal(code, 1);
  assert.match(stderr, /^PROVIDER_REFUSED: .*\(status 410\).*Use a newer offset as --from, or omit --from\.\n$/);
});

test('what would be the dead letter of a check has no input, and nothing is deleted', async (t) => {
  const edit = [{ pointer: '/instrument/issuePrice', value: '"x"' }];
  const { triggerCheck, spconnect } = await scene(t, {
    faults: [{ match: 'pre-trade-checks', fault: { kind: 'poison', rows: [0], how: { edit } } }],
  });
  triggerCheck();
  const { stdout } = await spconnect('preview', 'pre-trade-checks', '--limit', '1');
  assert.match(stdout, /^p\.dead-letters, key .+ at \/instrument\/issuePrice\n {2}no input\n/);
});

test('a refused --limit or --from is named, and no word of the URL or the filter', async (t) => {
  const { simulator, spconnect } = await scene(t, { maxLimit: 100, maxMaxEvents: 10 });
  simulator.publish({ kind: 'datachange' });
  for (const args of [
    ['--limit', '101'],
    ['--from', '0-0', '--limit', '11'],
  ]) {
    const { code, stderr } = await spconnect('preview', 'instruments', ...args);
    assert.equal(code, 1);
    assert.match(stderr, / Use a smaller --limit, or another --from\.\n$/);
  }
});

test('a refusal of the token endpoint is not taken for a refusal of the options', async (t) => {
  const faults = [{ match: 'token' as const, count: 0, fault: { kind: 'status' as const, status: 400 } }];
  const { spconnect } = await scene(t, { faults });
  const { code, stderr } = await spconnect('preview', 'instruments');
  assert.equal(code, 1);
  assert.match(stderr, /^TOKEN_FAILED: /);
  assert.doesNotMatch(stderr, /--limit/);
});
