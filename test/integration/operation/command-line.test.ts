import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { OFFSETS_PARTITIONS } from '../../../src/kafka/topic-plan.ts';
import { startCommand } from '../../support/connectors/connector-command.ts';
import { type ConnectorProcess, startProcess } from '../../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../../support/connectors/settings-file.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';

const LEAST = { PATH: process.env.PATH ?? '' };

function command(t: TestContext, args: readonly string[], env: Record<string, string> = {}): ConnectorProcess {
  const started = startProcess(MAIN, args, { ...LEAST, ...env });
  t.after(() => started.child.kill('SIGKILL'));
  return started;
}

/** A port that counts who connects to it. */
async function countingPort(t: TestContext): Promise<{ address: string; connections(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  return {
    address: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    connections: () => connections,
  };
}

test('wrong settings are reported all at once, each with its place and what is wanted, and nothing is started', async (t) => {
  const port = await countingPort(t);
  const file = await settingsFile(
    t,
    `prefix: "with spaces"
referenceData:
  url: http://${port.address}
  auth: { type: oauth2, tokenUrl: "http://${port.address}/token", clientId: me, clientSecret: canary-secret }
  timeout: 30
  requestsPerSeconds: 5
kafka: { brokers: "${port.address}", compression: brotli }
schemaRegistry: { url: "http://${port.address}" }
sources:
  - { name: instruments, type: instruments, limit: 0, pol_interval: 30s }
`,
  );
  const connector = command(t, ['run', '--config', file]);
  assert.equal((await connector.ended).code, 2);
  const [title, ...rest] = connector.lines;
  assert.equal(title, 'SETTINGS_INVALID: 6 problems in the settings:');
  const wanted: [place: string, setting: string, says: RegExp][] = [
    ['1:9', 'prefix', /expected letters, digits/],
    ['5:12', 'referenceData.timeout', /30; expected a duration .* like .*30s/],
    ['6:3', 'referenceData.requestsPerSeconds', /unknown setting; did you mean requestsPerSecond\?/],
    ['7:', 'kafka.compression', /"brotli"; expected one of zstd, gzip, none/],
    ['10:52', 'sources[0].limit', /0; expected a whole number from 1 to/],
    ['10:55', 'sources[0].pol_interval', /unknown setting; did you mean pollInterval\?/],
  ];
  for (const [index, [place, setting, says]] of wanted.entries()) {
    const line = rest[index] ?? '';
    assert.ok(line.startsWith(`${file}:${place}`), `${line} stands at ${place}`);
    assert.match(line, new RegExp(`^[^ ]+:\\d+:\\d+ ${setting.replace(/[[\]]/g, '\\$&')}: `));
    assert.match(line, says);
  }
  assert.match(rest[wanted.length] ?? '', /Nothing was started/);
  assert.equal(rest.length, wanted.length + 1, 'and no line more');
  assert.equal(port.connections(), 0);
});

test('without an environment, one message lists every variable that is missing', async (t) => {
  const connector = command(t, ['run']);
  assert.equal((await connector.ended).code, 2);
  const named = connector.lines.flatMap(
    (line) => /connector\.yaml:\d+:\d+ .*(?:: |\(set )(\w+)(?: is not set: .|, or \1_FILE )/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual(named, [
    'REFERENCE_DATA_URL',
    'AUTH_TOKEN_URL',
    'CLIENT_ID',
    'CLIENT_SECRET',
    'KAFKA_BROKERS',
    'SCHEMA_REGISTRY_URL',
  ]);
});

test('a secret in the wrong place is not shown by the message about it', async (t) => {
  const secret = 'canary-0123456789';
  const file = await settingsFile(
    t,
    `referenceData: { url: "\${SECRET}", auth: { type: basic, user: "a:b", password: "\${SECRET}" }, timeout: "\${SECRET}" }
kafka: { brokers: "\${SECRET}" }
schemaRegistry: { url: "https://me:\${SECRET}@registry" }
log: { level: "\${SECRET}" }
`,
  );
  const connector = command(t, ['run', '--config', file], { SECRET: secret });
  assert.equal((await connector.ended).code, 2);
  assert.match(connector.lines.join('\n'), /found the value of SECRET;/);
  assert.ok(!connector.lines.join('\n').includes(secret));
});

test('no secret gets into the output or into a topic, whatever the provider sends back', async (t) => {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return;
  const clientSecret = 'canary+secret/7f3a=&%21';
  const simulator = await createSimulator({ instruments: 300, seed: 9, port: 0, clientSecret });
  t.after(() => simulator.close());
  const json = { status: 401, contentType: 'application/json' };
  const echo = JSON.stringify({ title: `bad ${clientSecret}`, detail: encodeURIComponent(clientSecret) });
  simulator.injectFaults([
    {
      match: 'token',
      count: 2,
      fault: { kind: 'status', ...json, body: `{"error":"invalid_client","error_description":"not ${clientSecret}"}` },
    },
    { match: 'token', nth: 3, fault: { kind: 'status', ...json, status: 500, body: echo } },
    { match: 'instruments', nth: 1, fault: { kind: 'status', ...json, body: echo } },
    { match: 'instruments', nth: 3, fault: { kind: 'status', ...json, status: 503, body: echo } },
    { match: 'instruments', nth: 4, fault: { kind: 'body', body: `{"instruments":[${clientSecret}` } },
    { match: 'instruments', nth: 5, fault: { kind: 'expireTokens' } },
  ]);
  const prefix = uniquePrefix('canary');
  const env = { LOG_LEVEL: 'debug' };
  const connector = await startCommand(t, { stack, simulator, prefix, source: { limit: 100 }, env });
  await connector.line('walk completed');
  connector.child.kill('SIGTERM');
  assert.equal((await connector.ended).code, 0);

  const struck = simulator.faultsStruck();
  assert.deepEqual(struck, { status: 5, body: 1, expireTokens: 1 }, 'every fault struck');
  const output = connector.lines.join('\n');
  await fenceSource(kafka, prefix);
  const partitions = (count: number) => Array.from({ length: count }, (_, partition) => partition);
  const records = [
    ...(await readCommitted(kafka, `${prefix}.instruments`, partitions(6))),
    ...(await readCommitted(kafka, `${prefix}.offsets`, partitions(OFFSETS_PARTITIONS))),
    ...(await readCommitted(kafka, `${prefix}.dead-letters`)),
  ];
  assert.ok(records.length > 300);
  const topics = records.map(({ key, value, headers }) => `${key} ${value} ${JSON.stringify(headers)}`).join('\n');
  for (const text of [output, topics]) {
    for (const form of formsOf(clientSecret)) assert.ok(!text.includes(form), `it holds ${form}`);
    assert.doesNotMatch(text, /simulated-[0-9a-f]{8}-/, 'it holds an access token');
  }
});

/** How the secret may be written: as it is, in a form, in JSON, and in the header of basic authentication. */
function formsOf(secret: string): string[] {
  const inForm = encodeURIComponent(secret);
  const pair = Buffer.from(`simulated-client:${inForm}`).toString('base64');
  return [secret, inForm, Buffer.from(secret).toString('base64'), pair, secret.slice(0, 10)];
}
