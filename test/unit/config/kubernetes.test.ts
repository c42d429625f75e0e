import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { parseDocument } from 'yaml';
import { loadSettings } from '../../../src/config/load.ts';
import { settingsWarnings } from '../../../src/config/warnings.ts';

/** The fields of the types that the manifests use, as `npm run test:kubernetes` read them from the API's own types. */
interface Shapes {
  readonly kinds: Readonly<Record<string, string>>;
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
type Tree = Readonly<Record<string, unknown>>;

const root = resolve(import.meta.dirname, '../../..');
const folder = join(root, 'config/kubernetes');
const text = (name: string) => readFileSync(join(root, name), 'utf8');
const readme = text('config/kubernetes/README.md');
const shapes = JSON.parse(text('test/kubernetes/shapes.json')) as Shapes;
const manifests = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && name !== 'settings.yaml')
    .map((name) => [name, parse(readFileSync(join(folder, name), 'utf8'))]),
);

const [AUTHORITY = ''] = rootCertificates;

/** YAML 1.1, as kubectl reads it; a key that stands twice is an error. */
function parse(yaml: string): Tree {
  const document = parseDocument(yaml, { version: '1.1', uniqueKeys: true });
  assert.deepEqual(document.errors, []);
  return document.toJS() as Tree;
}

/** What of a value its type does not have, with its place. */
function strange(value: unknown, type: string, at: string): string[] {
  if (type === 'any') return [];
  if (type.startsWith('[]')) {
    if (!Array.isArray(value)) return [`${at}: not a list`];
    return value.flatMap((each, index) => strange(each, type.slice(2), `${at}[${index}]`));
  }
  if (typeof value !== 'object' || value === null) {
    return type.split(' or ').includes(typeof value) ? [] : [`${at}: ${JSON.stringify(value)} is no ${type}`];
  }
  const entries = Object.entries(value);
  if (type.startsWith('{}')) return entries.flatMap(([name, each]) => strange(each, type.slice(2), `${at}.${name}`));
  const fields = shapes.types[type];
  if (fields === undefined) return [`${at}: ${type} is not in shapes.json; run npm run test:kubernetes`];
  return entries.flatMap(([name, each]) => {
    const field = fields[name];
    return field === undefined ? [`${at}.${name}: no such field`] : strange(each, field, `${at}.${name}`);
  });
}

function strangeIn(name: string, manifest: Tree): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const type = shapes.kinds[kind];
  return type === undefined ? [`${name}: ${kind} is not in shapes.json`] : strange(manifest, type, name);
}

/** The values of one key, wherever it stands. */
function all(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => [...(name === key ? [each] : []), ...all(each, key)]);
}

test('every manifest has only fields that the API has, of their types', () => {
  assert.ok(manifests.size >= 6);
  const strangers = [...manifests].flatMap(([name, manifest]) => strangeIn(name, manifest));
  assert.deepEqual(strangers, []);
});

test('a field that the API does not have, and one of another type, are found', () => {
  const deployment = manifests.get('deployment.yaml') ?? {};
  const spec = { ...(deployment.spec as Tree), replica: 2, minReadySeconds: '5' };
  assert.deepEqual(strangeIn('it', { ...deployment, spec }), [
    'it.spec.replica: no such field',
    'it.spec.minReadySeconds: "5" is no number',
  ]);
});

test('kustomize takes all manifests, and the version of the package', () => {
  const { resources, images } = manifests.get('kustomization.yaml') as {
    readonly resources: readonly string[];
    readonly images: readonly unknown[];
  };
  assert.deepEqual([...resources, 'kustomization.yaml'].toSorted(), [...manifests.keys()].toSorted());
  const { name, version } = JSON.parse(text('package.json')) as { readonly name: string; readonly version: string };
  assert.deepEqual(images, [{ name, newName: name, newTag: version }]);
});

test('the command for a Prometheus operator applies all alert rules', () => {
  const command = /^ {4}(\{ printf[\s\S]*?) \| kubectl/m.exec(readme)?.[1] ?? '';
  const rule = parse(execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' }));
  assert.equal(rule.kind, 'PrometheusRule');
  assert.deepEqual(rule.spec, parse(text('config/prometheus/alerts.yml')));
});

test('every selector selects the pods of the deployment, or their service, and nothing else', () => {
  const labels = { 'app.kubernetes.io/name': 'structured-products-connect' };
  const others = [...manifests].filter(([name]) => name !== 'kustomization.yaml');
  for (const [name, manifest] of others) assert.deepEqual(all(manifest.metadata, 'labels'), [labels], name);
  const deployment = manifests.get('deployment.yaml') ?? {};
  assert.deepEqual(all((deployment.spec as Tree).template, 'labels'), [labels]);
  const own = (name: string) => all(manifests.get(name), 'matchLabels')[0];
  for (const name of ['deployment.yaml', 'pod-disruption-budget.yaml', 'network-policy.yaml', 'service-monitor.yaml'])
    assert.deepEqual(own(name), labels, name);
  const service = manifests.get('service.yaml') ?? {};
  assert.deepEqual((service.spec as Tree).selector, labels);
});

test('a node can be drained while no replica is ready, and only one by one while they are', () => {
  const { selector: _, ...budget } = (manifests.get('pod-disruption-budget.yaml')?.spec ?? {}) as Tree;
  assert.deepEqual(budget, { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
});

test('all is checked before anything is applied, and a new version starts when the old one has ended', () => {
  const places = ['validate --connect', 'create secret', 'apply --kustomize'].map((command) => readme.indexOf(command));
  const inOrder = places.toSorted((a, b) => a - b);
  assert.deepEqual(places, inOrder);
  assert.match(readme, /--replicas 0\n.*wait --for=delete.*\n.*apply --kustomize/);
});

test('the deployment runs the image as it is: its user, its port, its probes, and a file system that is only read', () => {
  const deployment = manifests.get('deployment.yaml') ?? {};
  const dockerfile = text('Dockerfile');
  const [user] = /^USER (\d+):\1$/m.exec(dockerfile)?.slice(1) ?? [];
  assert.deepEqual(all(deployment, 'runAsUser'), [Number(user)]);
  assert.deepEqual(all(deployment, 'fsGroup'), [Number(user)]);
  assert.deepEqual(all(deployment, 'readOnlyRootFilesystem'), [true]);
  assert.deepEqual(all(deployment, 'allowPrivilegeEscalation'), [false]);
  assert.match(dockerfile, new RegExp(`^EXPOSE ${all(deployment, 'containerPort')[0]}$`, 'm'));
  const paths = all(deployment, 'httpGet').map((probe) => (probe as { readonly path: string }).path);
  assert.deepEqual(paths, ['/livez', '/readyz', '/livez']);
  const [[settings] = []] = all(deployment, 'env') as { readonly name: string; readonly value: string }[][];
  assert.equal(settings?.name, 'SPCONNECT_CONFIG');
  const mounted = all(deployment, 'mountPath') as string[];
  assert.ok(mounted.includes(String(settings?.value).replace('/settings.yaml', '')));
});

test('its settings are valid, call every address by TLS, and take each secret from a file of the mounted secret', async () => {
  const settings = text('config/kubernetes/settings.yaml');
  const readFile = async (path: string) => (path.endsWith('.crt') ? AUTHORITY : `what ${path} holds`);
  const read = await loadSettings({ text: settings, file: 'settings.yaml', env: {}, readFile });
  assert.equal(read.topics.replicationFactor, 3);
  assert.doesNotMatch(settings, /http:\/\//);
  const secrets = [...settings.matchAll(/^[^#\n]*\w+File: (\S+)/gm)].map(([, path]) => path);
  assert.deepEqual([secrets.length, read.schemaRegistry.auth?.type], [4, 'basic']);
  for (const path of secrets) assert.match(String(path), /^\/run\/secrets\/[a-z-]+$/);
  const [, listed = ''] = /^4\. ([\s\S]*?)^5\. /m.exec(readme) ?? [];
  for (const path of secrets) assert.ok(listed.includes(`\`${path?.split('/').at(-1)}\``), path);
});

const guide = text('config/production/README.md');
const settingsText = text('config/production/connector.yaml');

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
      return path.endsWith('.pem') ? AUTHORITY : 'some-secret';
    },
  });
  assert.deepEqual(settingsWarnings(settings), []);
  assert.equal(settings.kafka.sasl?.mechanism, 'scram-sha-512');
  assert.ok(settings.kafka.ssl);
  assert.equal(settings.topics.replicationFactor, 3);
  for (const [url] of settingsText.matchAll(/https?:\/\/\S+/g)) assert.match(url, /^https:/);
  assert.ok(settings.marketData && settings.admin.token);
  const [, listed = ''] = /^3\. ([\s\S]*?)^4\. /m.exec(guide) ?? [];
  const files = [...listed.matchAll(/`([a-z]+-[a-z.-]+)`/g)].map(([, name]) => `/run/secrets/${name}`);
  assert.deepEqual(files.toSorted(), [...new Set(read)].toSorted());
});

for (const file of ['config/production/connector.yaml', 'config/kubernetes/settings.yaml']) {
  test(`the login by OAUTHBEARER that ${file} shows as a comment is valid in the place of the other one`, async () => {
    const read: string[] = [];
    const readFile = async (path: string) => {
      read.push(path);
      return /\.(pem|crt)$/.test(path) ? AUTHORITY : 'some-secret';
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
  assert.ok(guide.includes(`docker build --tag ${service.image} .`));
  assert.doesNotMatch(text('config/production/compose.yaml') + guide, /--file |build:/);
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
  const named = /\[(\w+) and (\w+)\]\(\.\.\/prometheus/.exec(guide)?.slice(1) ?? [];
  assert.equal(named.length, 2);
  for (const alert of named) assert.match(alerts, new RegExp(`alert: ${alert}$`, 'm'));
  for (const code of guide.match(/\b[A-Z]+_[A-Z_]+\b/g)?.filter((word) => word !== 'SASL_SSL') ?? [])
    assert.match(text('src/errors.ts'), new RegExp(`\\b${code}\\b`));
});
