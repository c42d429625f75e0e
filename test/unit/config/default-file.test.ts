import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { isMap, isPair, isScalar, parseDocument, visit } from 'yaml';
import { settingsJsonSchema } from '../../../config/json-schema.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { problemsIn } from './settings-text.ts';

const folder = resolve(import.meta.dirname, '../../../config');
const text = readFileSync(resolve(folder, 'connector.yaml'), 'utf8');
const REQUIRED = {
  REFERENCE_DATA_URL: 'https://provider.example',
  AUTH_TOKEN_URL: 'https://provider.example/token',
  CLIENT_ID: 'me',
  CLIENT_SECRET: 'secret-of-the-client',
  KAFKA_BROKERS: 'kafka:9092',
  SCHEMA_REGISTRY_URL: 'http://registry:8081',
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly description?: string;
  readonly enum?: readonly string[];
}

/** Every setting of the JSON schema as `a.b[].c`, with the lines that describe it (alternatives may share a name). */
function settingsOf(schema: Schema, path = ''): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (inner: Map<string, string[]>) => {
    for (const [name, lines] of inner) found.set(name, [...(found.get(name) ?? []), ...lines]);
  };
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const name = path === '' ? key : `${path}.${key}`;
    add(new Map([[name, [member.description ?? '']]]));
    add(settingsOf(member, name));
  }
  if (schema.items) add(settingsOf(schema.items, `${path}[]`));
  for (const option of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) add(settingsOf(option, path));
  return found;
}

/** Every setting of the file with the comment on its line. */
function settingsIn(yaml: string): Map<string, string> {
  const found = new Map<string, string>();
  const lines = yaml.split('\n');
  visit(parseDocument(yaml), {
    Pair(_, pair, ancestors) {
      const path = [...ancestors, pair].flatMap((node) => {
        if (isPair(node) && isScalar(node.key)) return [`.${node.key.value}`];
        return isMap(node) || !('items' in node) ? [] : ['[]'];
      });
      const offset = isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
      const line = lines[yaml.slice(0, offset).split('\n').length - 1] ?? '';
      found.set(path.join('').slice(1), / # (.*)$/.exec(line)?.[1] ?? '');
    },
  });
  return found;
}

/** `# key: value # line`: a setting that is switched off. */
const COMMENTED = /^ *# *([a-z][A-Za-z-]*):.*? # (.*)$/;

test('an empty environment gives one message that lists all missing variables', async () => {
  const problems = await problemsIn(text, { file: 'config/connector.yaml' });
  const named = problems.map((line) => /(?:: (?=\w+ is not set: .)|\(set )(\w+)/.exec(line)?.[1]);
  assert.deepEqual(named, Object.keys(REQUIRED));
});

test('the file as it is says exactly what holds without it', async () => {
  const least = `
referenceData: { url: https://provider.example, auth: { type: oauth2, tokenUrl: https://provider.example/token, clientId: me, clientSecret: secret-of-the-client } }
kafka: { brokers: kafka:9092 }
schemaRegistry: { url: http://registry:8081 }`;
  const fromFile = await loadSettings({ text, env: REQUIRED });
  const fromDefaults = await loadSettings({ text: least, env: {} });
  assert.deepEqual(JSON.parse(JSON.stringify(fromFile)), JSON.parse(JSON.stringify(fromDefaults)));
});

test('the short settings of the environment reach their settings', async () => {
  const env = {
    ...REQUIRED,
    REFERENCE_DATA_URL: 'http://provider:80',
    TOPIC_PREFIX: 'test',
    POLL_INTERVAL: '5m',
    ALLOW_HTTP: 'true',
    LOG_LEVEL: 'debug',
    KAFKA_BROKERS: 'a:1,b:2',
  };
  const { prefix, sources, referenceData, log, kafka } = await loadSettings({ text, env });
  assert.deepEqual(
    [prefix, sources[0]?.pollIntervalMs, referenceData.url, referenceData.allowHttp, log.level, kafka.brokers],
    ['test', 300_000, 'http://provider:80', true, 'debug', ['a:1', 'b:2']],
  );
});

test('a wrong value of one variable is one problem, whose line names each of its settings', async () => {
  await assert.rejects(loadSettings({ text, env: { ...REQUIRED, HTTPS_PROXY: 'canary' } }), (error: Error) => {
    const settings = 'referenceData\\.proxy, marketData\\.proxy, kafka\\.sasl\\.proxy';
    const line = `\\S+:41:\\d+ ${settings}: is not an http or https address \\(from HTTPS_PROXY\\)`;
    assert.match(error.message, new RegExp(`^One problem in the settings:\\n${line}$`));
    return true;
  });
});

test('each login that an empty variable leaves out is missing, and the line names the variable', async () => {
  const logins = {
    basic: ['USER', 'PASSWORD'],
    bearer: ['TOKEN'],
    oauth2: ['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET'],
  };
  for (const [type, variables] of Object.entries(logins)) {
    const env = { ...REQUIRED, SCHEMA_REGISTRY_URL: 'https://registry.example', SCHEMA_REGISTRY_AUTH: type };
    const problems = await problemsIn(text, { file: 'config/connector.yaml', env });
    const named = problems.map((line) => /: is missing; .*\(set SCHEMA_REGISTRY_(\w+)/.exec(line)?.[1]);
    assert.deepEqual(named, variables);
  }
});

test('every setting stands in the file with its line, and the file has no other', () => {
  const known = settingsOf(settingsJsonSchema() as Schema);
  const active = settingsIn(text);
  for (const [name, comment] of active) {
    const isKnown = known.get(name)?.includes(comment);
    assert.ok(isKnown, `${name} has the line "${comment}", not ${JSON.stringify(known.get(name))}`);
  }
  // What can stand in place of something else is shown as a comment, with its line.
  const alternatives = text.split('\n').flatMap((line) => {
    const [, key, comment] = COMMENTED.exec(line) ?? [];
    return key === undefined || comment === undefined ? [] : [`${key} # ${comment}`];
  });
  const leaf = (name: string, line: string) => `${name.split('.').at(-1)} # ${line}`;
  const shown = new Set([...[...active].map(([name, line]) => leaf(name, line)), ...alternatives]);
  const documented = new Set([...known].flatMap(([name, lines]) => lines.map((line) => leaf(name, line))));
  for (const line of shown) assert.ok(documented.has(line), `connector.yaml says "${line}", which no setting does`);
  for (const line of documented) {
    // Files of secrets are named in the line of their secret.
    assert.ok(shown.has(line) || / # The path of a file that holds /.test(line), `connector.yaml lacks "${line}"`);
  }
});

test('the JSON schema for editors is the one of the settings', () => {
  const written: unknown = JSON.parse(readFileSync(resolve(folder, 'connector.schema.json'), 'utf8'));
  assert.deepEqual(written, JSON.parse(JSON.stringify(settingsJsonSchema())), 'run node config/generate-schema.ts');
});

test('files of certificates and a key that signs come from the environment, in place of a secret', async () => {
  const { CLIENT_SECRET: _, ...rest } = REQUIRED;
  const signing = { CLIENT_AUTHENTICATION: 'private_key_jwt', CLIENT_KEY_FILE: '/run/key.pem', CLIENT_KEY_ID: 'mine' };
  const kafka = {
    KAFKA_SSL: 'true',
    KAFKA_CA_FILE: '/run/kafka-ca.pem',
    KAFKA_SASL_MECHANISM: 'oauthbearer',
    KAFKA_TOKEN_URL: 'https://login.example/token',
    KAFKA_CLIENT_ID: 'me',
    KAFKA_CLIENT_AUTHENTICATION: 'private_key_jwt',
    KAFKA_CLIENT_KEY_FILE: '/run/kafka-key.pem',
    KAFKA_TOKEN_CA_FILE: '/run/login-ca.pem',
  };
  const registry = { SCHEMA_REGISTRY_CA_FILE: '/run/registry-ca.pem', PROVIDER_CA_FILE: '/run/provider-ca.pem' };
  const algorithms = { CLIENT_KEY_ALGORITHM: 'EdDSA', KAFKA_CLIENT_KEY_ALGORITHM: 'EdDSA' };
  const env = { ...rest, ...signing, ...kafka, ...registry, ...algorithms };
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const contentOf = (path: string) => `${/key/.test(path) ? key : rootCertificates[0]}\ncontent of ${path}`;
  const settings = await loadSettings({ text, env, readFile: async (path) => contentOf(path) });
  const { auth, ca } = settings.referenceData;
  assert.ok(auth.type === 'oauth2');
  const credentials = [auth.clientSecret, auth.keyId, await auth.privateKey?.()];
  assert.deepEqual(credentials, [null, 'mine', contentOf('/run/key.pem')]);
  const authorities = [await ca?.(), await settings.schemaRegistry.ca?.()];
  assert.deepEqual(authorities, [contentOf('/run/provider-ca.pem'), contentOf('/run/registry-ca.pem')]);
  const { ssl, sasl } = settings.kafka;
  assert.deepEqual([await ssl?.ca?.(), ssl?.cert], [contentOf('/run/kafka-ca.pem'), null]);
  const files = [await sasl?.privateKey?.(), await sasl?.ca?.()];
  assert.deepEqual(files, [contentOf('/run/kafka-key.pem'), contentOf('/run/login-ca.pem')]);

  const off = await problemsIn(text, { env: { ...env, KAFKA_SSL: '' }, readFile: async (path) => contentOf(path) });
  assert.match(off.join(), /kafka\.ssl\.ca: is set, but TLS is off; set kafka\.ssl\.enabled: true/);
});
