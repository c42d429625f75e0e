import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { loadSettings } from '../../../src/config/load.ts';
import { settingsWarnings } from '../../../src/config/warnings.ts';

const root = resolve(import.meta.dirname, '../../..');
const text = (name: string) => readFileSync(join(root, name), 'utf8');
const readme = text('config/production/README.md');
const settingsText = text('config/production/connector.yaml');
const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

/** The fields of a service that the example uses, as the Compose specification has them. */
interface Service {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly init: boolean;
  readonly volumes: readonly string[];
  readonly ports: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly deploy: { readonly resources: Readonly<Record<'limits' | 'reservations', object>> };
}
const FIELDS =
  'image environment read_only cap_drop security_opt init restart stop_grace_period volumes ports healthcheck logging deploy';

function connector(): Service {
  const document = parseDocument(text('config/production/compose.yaml'), { uniqueKeys: true });
  assert.deepEqual(document.errors, []);
  const { services, ...top } = document.toJS();
  assert.deepEqual([Object.keys(top), Object.keys(services)], [['name'], ['connector']]);
  assert.deepEqual(Object.keys(services.connector), FIELDS.split(' '));
  return services.connector;
}

test('the settings of production are valid, log in over TLS everywhere, and read each secret from a file of the list', async () => {
  const read: string[] = [];
  const settings = await loadSettings({
    text: settingsText,
    env: {},
    readFile: async (path) => {
      read.push(path);
      return path.endsWith('.pem') ? PEM : 'some-secret';
    },
  });
  assert.deepEqual(settingsWarnings(settings), []);
  assert.equal(settings.kafka.sasl?.mechanism, 'scram-sha-512');
  assert.ok(settings.kafka.ssl);
  assert.equal(settings.topics.replicationFactor, 3);
  for (const [url] of settingsText.matchAll(/https?:\/\/\S+/g)) assert.match(url, /^https:/);
  assert.ok(settings.marketData && settings.admin.token);
  const [, listed = ''] = /^3\. ([\s\S]*?)^4\. /m.exec(readme) ?? [];
  const files = [...listed.matchAll(/`([a-z]+-[a-z.-]+)`/g)].map(([, name]) => `/run/secrets/${name}`);
  assert.deepEqual(files.toSorted(), [...new Set(read)].toSorted());
});

for (const file of ['config/production/connector.yaml', 'config/kubernetes/settings.yaml']) {
  test(`the login by OAUTHBEARER that ${file} shows as a comment is valid in the place of the other one`, async () => {
    const read: string[] = [];
    const readFile = async (path: string) => {
      read.push(path);
      return /\.(pem|crt)$/.test(path) ? PEM : 'some-secret';
    };
    const other = text(file)
      .replace(/^ {2}sasl:\n(?: {4}.*\n)+/m, '')
      .replace(/^ {2}# (sasl:| {2}\w+: .*)$/gm, '  $1');
    const settings = await loadSettings({ text: other, env: {}, readFile });
    assert.deepEqual(settingsWarnings(settings), []);
    assert.equal(settings.kafka.sasl?.mechanism, 'oauthbearer');
    assert.ok(read.includes('/run/secrets/kafka-client-secret') && !read.includes('/run/secrets/kafka-password'));
  });
}

test('the compose file runs the image with these settings, secrets and limits, and no more rights than it needs', () => {
  const service = connector();
  const { name, version } = JSON.parse(text('package.json'));
  assert.equal(service.image, `${name}:${version}`);
  // The folder is copied out of the clone: nothing in it leads back.
  assert.ok(readme.includes(`docker build --tag ${service.image} .`));
  assert.doesNotMatch(text('config/production/compose.yaml') + readme, /--file |build:/);
  const mounts = service.volumes.map((volume) => volume.split(':'));
  assert.ok(mounts.every(([, , mode]) => mode === 'ro'));
  assert.ok(mounts.some(([from, to]) => from === './connector.yaml' && to === service.environment.SPCONNECT_CONFIG));
  assert.ok(mounts.some(([from, to]) => from === './secrets' && to === '/run/secrets'));
  assert.deepEqual([service.read_only, service.cap_drop, service.init], [true, ['ALL'], true]);
  assert.ok(service.ports.every((port) => port.startsWith('127.0.0.1:')));
  const [, , probe = '', url] = service.healthcheck.test;
  assert.ok(existsSync(join(root, probe.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'))));
  assert.equal(url, 'http://127.0.0.1:8083/readyz');
  const { limits, reservations } = service.deploy.resources;
  for (const resources of [limits, reservations]) assert.deepEqual(Object.keys(resources), ['cpus', 'memory']);
});

test('every name that the README of production gives is one that there is', () => {
  const alerts = text('config/prometheus/alerts.yml');
  const named = /\[(\w+) and (\w+)\]\(\.\.\/prometheus/.exec(readme)?.slice(1) ?? [];
  assert.equal(named.length, 2);
  for (const alert of named) assert.match(alerts, new RegExp(`alert: ${alert}$`, 'm'));
  for (const code of readme.match(/\b[A-Z]+_[A-Z_]+\b/g)?.filter((word) => word !== 'SASL_SSL') ?? [])
    assert.match(text('src/errors.ts'), new RegExp(`\\b${code}\\b`));
});
