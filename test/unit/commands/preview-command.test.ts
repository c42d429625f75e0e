import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { runWith } from './shell/terminal.ts';

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const simulator = await createSimulator({ instruments: 30, seed: 3, port: 0, ...options });
  t.after(() => simulator.close());
  const { referenceDataUrl: url, tokenUrl, clientId, clientSecret } = simulator;
  const file = await settingsFile(
    t,
    `
prefix: p
referenceData: { url: "${url}", auth: { type: oauth2, tokenUrl: "${tokenUrl}", clientId: "${clientId}", clientSecret: "${clientSecret}" } }
kafka: { brokers: "\${KAFKA_BROKERS}" }
schemaRegistry: { url: "\${SCHEMA_REGISTRY_URL}" }
sources: [{ name: all, type: instruments }, { name: checks, type: pre-trade-checks }]`,
  );
  return {
    simulator,
    file,
    async previewed(...args: string[]) {
      const { code, stdout, stderr } = await runWith(['preview', ...args, '--output', 'json', '--config', file]);
      assert.equal(code, 0, stderr);
      return { stderr, stdout, records: stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
    },
  };
}

test('an event is printed as its two records', async (t) => {
  const { simulator, previewed } = await scene(t);
  assert.match((await previewed('all', '--from', '0-0')).stderr, /no rows, events or checks there now/);
  simulator.change(4);
  const { records } = await previewed('all', '--from', '0-0', '--limit', '1');
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
  const { records, stdout } = await previewed('all', '--limit', '2');
  assert.equal(records[1].topic, 'p.dead-letters');
  assert.deepEqual(records[1].deadLetter.pointer, '/issuePrice');
  assert.match(records[1].value, /"issuePrice"/);
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]|\u202e/u);
});

test('the URL of a check is printed only when asked for', async (t) => {
  const { simulator, previewed } = await scene(t);
  const [instrument] = [...simulator.ledger.instruments()];
  const id = simulator.triggerCheck(instrument?.id ?? '');
  const hidden = await previewed('checks');
  assert.equal(hidden.records[0].key, id);
  const url = /"simulationUrl":"([^"]+)"/.exec([...simulator.ledger.checks()][0]?.text ?? '')?.[1] ?? assert.fail();
  assert.ok(!hidden.stdout.includes(url));
  assert.equal((await previewed('checks', '--show-url')).records[0].value.simulationUrl, url);
});

test('people get a line for each record, its fields below it, and why it would be a dead letter', async (t) => {
  const edit = [{ pointer: '/issuePrice', value: '"\\u001b[2J"' }];
  const { simulator, file } = await scene(t, {
    faults: [{ match: 'instruments', fault: { kind: 'poison', rows: [0], how: { edit } } }],
  });
  const [first, second] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
  const { stdout } = await runWith(['preview', 'all', '--limit', '2', '--config', file]);
  assert.match(stdout, new RegExp(`^p\\.dead-letters, key ${first}, .+ at /issuePrice\\n {2}\\{"id":${first},`));
  assert.match(stdout, new RegExp(`\\n\\np\\.instruments, key ${second}\\n {2}id +${second}\\n`));
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]| null$/mu);
});

test('an offset that has expired is refused with what to give in its place, and no word of the URL or the filter', async (t) => {
  const { simulator, file } = await scene(t);
  simulator.publish({ kind: 'datachange' });
  const [event] = [...simulator.ledger.events()];
  simulator.publish({ kind: 'datachange' });
  simulator.advanceClock(8 * 86_400_000);
  const { code, stderr } = await runWith([
    'preview',
    'all',
    '--from',
    `${Number(event?.offset.split('-')[0]) - 1}-0`,
    '--config',
    file,
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /^PROVIDER_REFUSED: .*\(status 410\).*Use a newer one as --from, or an id of the list\.\n$/);
});
