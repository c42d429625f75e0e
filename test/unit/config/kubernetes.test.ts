import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { loadSettings } from '../../../src/config/load.ts';

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

const AUTHORITY = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

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
  assert.deepEqual(
    [...manifests].flatMap(([name, manifest]) => strangeIn(name, manifest)),
    [],
  );
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
  assert.deepEqual(
    places.toSorted((a, b) => a - b),
    places,
  );
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
