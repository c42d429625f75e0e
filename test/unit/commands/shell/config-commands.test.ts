import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { loadSettings } from '../../../../src/config/load.ts';
import { settingsFile } from '../../../support/connectors/settings-file.ts';
import { MINIMAL, settingsText } from '../../config/settings-text.ts';
import { runWith } from './terminal.ts';

const SECRET = 'canary-0815';
const REQUIRED = {
  REFERENCE_DATA_URL: 'https://provider.example',
  AUTH_TOKEN_URL: 'https://provider.example/token',
  CLIENT_ID: 'me',
  CLIENT_SECRET: SECRET,
  KAFKA_BROKERS: 'kafka:9092',
  SCHEMA_REGISTRY_URL: 'http://registry:8081',
};
const authenticated = settingsText({
  referenceData: `referenceData: { url: https://provider.example/api, auth: { type: bearer, token: ${SECRET} } }`,
});

test('the settings file stands before the command, behind it, or in the environment', async (t) => {
  const file = await settingsFile(t, settingsText({ prefix: 'prefix: mine' }));
  for (const args of [
    ['--config', file, 'config', 'print'],
    [`--config=${file}`, '--output', 'text', 'config', 'print'],
    ['config', 'print', '--config', file],
  ]) {
    assert.match((await runWith(args)).stdout, /^prefix: mine # file$/m);
  }
  const env = { SPCONNECT_CONFIG: file };
  assert.match((await runWith(['config', 'print'], { env })).stdout, /^prefix: mine # file$/m);
  const ok = `${file}: ok; sources: instruments; prices: none\n`;
  assert.equal((await runWith(['validate'], { env })).stdout, ok, 'the named file is the file that is read');
  const usual = await runWith(['validate', '--config', 'config/connector.yaml'], { env: { ...REQUIRED, ...env } });
  assert.match(usual.stdout, /^config\/connector\.yaml: ok;/, 'the option wins, also if it names the usual file');
  assert.equal((await runWith(['--config', file])).code, 2);
});

test('variables that the settings file does not refer to are a warning', async (t) => {
  const file = await settingsFile(
    t,
    settingsText({
      log: `log: { level: "\${LOG_LEVEL:-warn}" }`,
      admin: `admin: { tokenFile: "\${ADMIN_TOKEN_FILE}" }`,
    }),
  );
  const env = {
    ADMIN_TOKEN_FILE: await settingsFile(t, SECRET),
    LOG_LEVEL: 'info',
    HTTPS_PROXY: 'http://proxy.example:3128',
    KAFKA_PASSWORD_FILE: '/x',
    OTHER: '1',
  };
  const { code, stderr } = await runWith(['validate', '--config', file], { env });
  assert.equal(code, 0);
  assert.match(stderr, /These variables are set but have no effect, because .*: HTTPS_PROXY, KAFKA_PASSWORD_FILE\.$/m);
  assert.doesNotMatch((await runWith(['validate'], { env: REQUIRED })).stderr, /without effect/);
});

test('a remedy names only variables that the settings file refers to', async (t) => {
  const file = await settingsFile(t, settingsText({}));
  const { stderr } = await runWith(['lookup', 'price', 'CH0012032048', '--config', file]);
  assert.match(stderr, /^SETTINGS_INVALID: marketData\.url is not set: set it\.$/m);
  const usual = await runWith(['lookup', 'price', 'CH0012032048'], { env: REQUIRED });
  assert.match(usual.stderr, / marketData\.url .*\(MARKET_DATA_URL\) is not set: set it\.$/m);
  const plain = await settingsFile(
    t,
    settingsText({
      schemaRegistry: 'schemaRegistry: { url: http://a.example, auth: { type: bearer, token: abcdefgh } }',
      referenceData: 'referenceData: { url: http://a.example, auth: { type: none } }',
    }),
  );
  const refused = await runWith(['lookup', 'price', 'CH0012032048', '--config', plain]);
  assert.match(refused.stderr, /set referenceData\.allowHttp: true$/m);
  assert.doesNotMatch(refused.stderr, /ALLOW_HTTP/);
});

test('each printed setting says where its value comes from', async (t) => {
  const file = await settingsFile(
    t,
    settingsText({
      log: `log: { level: "\${LEVEL:-warn}" }`,
      prefix: 'prefix: mine',
      topics: `topics: { create: "\${CREATE:-true}", replicationFactor: "\${COPIES:-3}" }`,
    }),
  );
  const env = { LEVEL: 'debug', CREATE: 'false' };
  const { stdout } = await runWith(['config', 'print', '--config', file], { env });
  assert.match(stdout, /^ {2}create: false # environment: CREATE$/m);
  assert.match(stdout, /^ {2}replicationFactor: 3 # file; COPIES is not set$/m);
  assert.match(stdout, /^prefix: mine # file$/m);
  assert.match(stdout, /^ {2}level: debug # environment: LEVEL$/m);
  assert.match(stdout, /^ {2}maxItems: 500 # default$/m);
  assert.match(stdout, /^schemaRegistry:\n(?: .*\n)* {4}type: none # default$/m, 'of a group that is a default');
  const secrets = `auth: { type: basic, user: me, password: "\${PASSWORD:-of-the-file}" }, proxy: "http://u:\${PART}@p"`;
  const secretFile = await settingsFile(
    t,
    settingsText({ referenceData: `referenceData: { url: https://a.example, ${secrets} }` }),
  );
  for (const [env, password] of [
    [{ PART: SECRET }, '"[secret]" # file; PASSWORD is not set'],
    [{ PART: SECRET, PASSWORD: SECRET }, `\${PASSWORD} # environment: PASSWORD`],
  ] as const) {
    const printed = await runWith(['config', 'print', '--config', secretFile], { env });
    assert.ok(printed.stdout.includes(` password: ${password}\n`), printed.stdout);
    assert.match(printed.stdout, / proxy: "\[secret\]" # environment: PART\n/);
  }
  const unset = await runWith(['config', 'print', '--config', file]);
  assert.match(unset.stdout, /^ {2}level: warn # file; LEVEL is not set$/m);
});

test('what config print prints is valid, and means the same', async (t) => {
  const secretFile = await settingsFile(t, SECRET);
  const rich = settingsText({
    referenceData: `referenceData: { url: https://provider.example, proxy: "\${PROXY_URL}", auth: { type: oauth2, tokenUrl: https://provider.example/token, clientId: "$\${me}", clientSecret: "\${CLIENT_SECRET}" } }`,
    kafka: `kafka: { brokers: [a:1, b:2], ssl: true, sasl: { mechanism: plain, username: me, passwordFile: ${secretFile} } }`,
    marketData: 'marketData: { url: https://provider.example/prices, timeout: 90s, auth: { type: none } }',
    sources: `sources:
  - { name: one, type: instruments, scope: my, deleteOnEventTypes: [repayment] }
  - { name: two, type: events, eventType: newissue, topics: { instrument-events: new } }
  - { name: three, type: pre-trade-checks, pollInterval: 1m }`,
    prices: 'prices: { kinds: { overview: { fields: [LastPrice] }, daily: { enabled: true } } }',
    admin: `admin: { port: "\${ADMIN_PORT:-0}", token: "\${ADMIN_TOKEN:-}" }`,
  });
  const proxy = { PROXY_URL: `http://u:${SECRET}@proxy:3128` };
  for (const [text, env] of [
    [settingsText({}), {}],
    [authenticated, {}],
    [rich, { ...proxy, CLIENT_SECRET: SECRET, ADMIN_TOKEN: '' }],
    [rich, { ...proxy, CLIENT_SECRET_FILE: secretFile, ADMIN_TOKEN: SECRET, ADMIN_PORT: '8083' }],
    [await readFile(new URL('../../../../config/connector.yaml', import.meta.url), 'utf8'), REQUIRED],
  ] as const) {
    const file = await settingsFile(t, text);
    for (const output of ['text', 'json']) {
      const printed = await runWith(['config', 'print', '--output', output, '--config', file], { env });
      assert.equal(printed.code, 0, printed.stderr);
      assert.ok(!printed.stdout.includes(SECRET), printed.stdout);
      const again = await settingsFile(t, printed.stdout);
      const valid = await runWith(['validate', '--config', again], { env });
      assert.equal(valid.code, 0, `${valid.stdout}\n${printed.stdout}`);
      const [before, after] = [await loadSettings({ file, env }), await loadSettings({ file: again, env })];
      // Not as texts: groups that read files are ready in any order.
      assert.deepEqual(JSON.parse(JSON.stringify(after)), JSON.parse(JSON.stringify(before)));
    }
  }
});

test('settings that are right are said so', async (t) => {
  const file = await settingsFile(t, settingsText({}));
  const { code, stdout } = await runWith(['validate', '--config', file]);
  assert.deepEqual([code, stdout], [0, `${file}: ok; sources: instruments; prices: none\n`]);
  const priced = await settingsFile(t, settingsText({ more: 'marketData: { url: https://m.example }' }));
  assert.match((await runWith(['validate', '--config', priced])).stdout, /; prices: overview$/m);
  const json = await runWith(['validate', '--output', 'json', '--config', file]);
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, problems: [], warnings: [] });
});

test('everything that is wrong is data, a line each, with exit code 2', async (t) => {
  const file = await settingsFile(t, `${settingsText({ ...MINIMAL, log: 'log: { leve: info }' })}\nprefix: "a b"\n`);
  const { code, stdout } = await runWith(['validate', '--config', file]);
  assert.equal(code, 2);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /:4:8 log\.leve: unknown setting; did you mean level\?$/);
  assert.match(lines[1] ?? '', /:5:9 prefix: /);
  const priced = await settingsFile(t, settingsText({ more: 'marketData: { url: https://m.example }' }));
  assert.match((await runWith(['validate', '--config', priced])).stdout, /; prices: overview$/m);
  const json = await runWith(['validate', '--output', 'json', '--config', file]);
  assert.deepEqual([json.code, JSON.parse(json.stdout)], [2, { ok: false, problems: lines, warnings: [] }]);
});

test('validate refuses the contents that run refuses', async (t) => {
  const pem = await settingsFile(t, 'nonsense');
  const provider = (more: string) => ({
    referenceData: `referenceData: { url: https://provider.example, auth: { type: none }, ${more} }`,
  });
  const env = { PROXY: 'host:3128' };
  for (const [own, problem] of [
    [
      provider(`proxy: "\${PROXY}"`),
      /^\S+:1:78 referenceData\.proxy: is not an http or https address \(from PROXY\)$/m,
    ],
    [provider('proxy: "host:3128"'), 'referenceData.proxy: is not an http or https address'],
    [
      { ...provider(`proxy: "\${PROXY}", ca: ${pem}`), log: 'log: { leve: info }' },
      /:1:78 referenceData\.proxy: .*\n\S+:1:94 referenceData\.ca: .*\n\S+:4:8 log\.leve: .*\n$/,
    ],
    [provider('proxy: "http://u:a%@host:1"'), 'referenceData.proxy: has a login with a bare %; write it as %25'],
    [provider(`ca: ${pem}`), `referenceData.ca: ${pem} has no certificate in PEM format`],
    [provider(`cert: ${pem}, key: ${pem}`), `referenceData.key: ${pem} has no private key in PEM format`],
    [{ kafka: `kafka: { brokers: [a:1], ssl: { ca: ${pem} } }` }, `kafka.ssl.ca: ${pem} has no certificate`],
    [{ kafka: 'kafka: { brokers: [a:65536] }' }, /kafka\.brokers.*host:port/],
    [
      { marketData: 'marketData: { url: https://a.example, auth: { type: apiKey, header: Host, value: abcdefgh } }' },
      'marketData.auth.header names a field that cannot hold an API key.',
    ],
    [
      { schemaRegistry: 'schemaRegistry: { url: https://a.example, proxy: "host:1" }' },
      'schemaRegistry.proxy: is not an http or https address',
    ],
  ] as const) {
    const { code, stdout } = await runWith(['validate', '--config', await settingsFile(t, settingsText(own))], { env });
    assert.equal(code, 2, stdout);
    if (typeof problem === 'string') assert.ok(stdout.includes(problem), stdout);
    else assert.match(stdout, problem);
  }
  const refused = 'marketData: { url: https://a.example, auth: { type: apiKey, header: Host, value: abcdefgh } }';
  const file = await settingsFile(t, `${settingsText({ marketData: refused })}\nadmin: { token: wrong }\n`);
  const { stderr } = await runWith(['validate', '--config', file]);
  assert.match(stderr, /^warning: A secret /m, 'the warnings are shown beside the refusal');
});

test('an unknown type of event and a secret that is an ordinary word are warned of, and allowed', async (t) => {
  const sources = '[{ name: a, type: events, eventType: repayments }]';
  const file = await settingsFile(t, `${settingsText({})}\nsources: ${sources}\nadmin: { token: wrong }\n`);
  const { code, stdout, stderr } = await runWith(['validate', '--config', file]);
  assert.equal(code, 0, stdout);
  const [type = '', secret = ''] = stderr.split('\n');
  assert.match(
    type,
    /^warning: sources\[0\]\.eventType: "repayments" is not among .*newissue.*did you mean repayment\?/,
  );
  assert.match(secret, /^warning: A secret has fewer than 6 characters/);
  assert.ok(!stderr.includes('wrong'));
  const priced = await settingsFile(t, settingsText({ more: 'marketData: { url: https://m.example }' }));
  assert.match((await runWith(['validate', '--config', priced])).stdout, /; prices: overview$/m);
  const json = await runWith(['validate', '--output', 'json', '--config', file]);
  assert.equal(JSON.parse(json.stdout).warnings.length, 2);
});
