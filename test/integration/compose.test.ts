import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { KAFKA_IMAGE, REGISTRY_IMAGE } from '../../src/demo/docker-stack.ts';
import { pythonWith } from '../support/python-environment.ts';

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly resources?: { readonly limits?: { readonly cpus?: string; readonly memory?: string } } };
}

const root = resolve(import.meta.dirname, '../..');
const FILE = join(root, 'docker-compose.yml');
const text = readFileSync(FILE, 'utf8');
const { services, volumes } = parse(text, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

function service(name: string): Service {
  const found = services[name];
  assert.ok(found, `there is a service ${name}`);
  return found;
}

test('the compose file is valid by the specification', async (t) => {
  const python = await pythonWith(['check-jsonschema==0.39.0']);
  if (python === null) return t.skip('no python3 with check-jsonschema can be had here');
  const check = ['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec', FILE];
  await promisify(execFile)(python, check, { timeout: 240_000 });
});

test('every image has an exact version, and those that the tests start have the same', () => {
  for (const [name, { image }] of Object.entries(services)) assert.match(image, /:v?\d+\.\d+\.\d+$/, name);
  assert.equal(service('kafka').image, KAFKA_IMAGE);
  assert.equal(service('registry').image, REGISTRY_IMAGE);
  for (const name of ['simulator', 'connector']) {
    assert.equal(service(name).image, `structured-products-connect:${version}`);
  }
  const built = Object.keys(services).filter((name) => service(name).build !== undefined);
  assert.deepEqual(built, ['connector'], 'our image is built once');
});

test('no service has capabilities, can gain rights, goes without a limit, or listens beyond this machine', () => {
  for (const [name, one] of Object.entries(services)) {
    assert.deepEqual(one.cap_drop, ['ALL'], name);
    assert.deepEqual(one.security_opt, ['no-new-privileges:true'], name);
    const { cpus, memory } = one.deploy?.resources?.limits ?? {};
    assert.ok(cpus && memory, `${name} has limits`);
    for (const port of one.ports ?? []) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
  }
  for (const name of ['simulator', 'connector']) assert.equal(service(name).read_only, true);
});

test('every service has a health check, and nothing waits for one that has another profile', () => {
  for (const [name, { healthcheck, depends_on = {}, profiles = [] }] of Object.entries(services)) {
    assert.ok(healthcheck?.test.length, name);
    for (const other of Object.keys(depends_on)) {
      assert.ok(
        (service(other).profiles ?? profiles).every((profile) => profiles.includes(profile)),
        `${name} waits for ${other}`,
      );
    }
  }
  assert.deepEqual(service('connector').depends_on, {
    kafka: { condition: 'service_healthy' },
    registry: { condition: 'service_healthy' },
  });
});

test('the connector knows every variable that it is given, and plain http is for the simulated provider alone', () => {
  const known = readFileSync(join(root, 'config/connector.yaml'), 'utf8');
  const environment = service('connector').environment ?? {};
  const unknown = Object.keys(environment).filter((name) => !known.includes(`\${${name.replace(/_FILE$/, '')}`));
  assert.deepEqual(unknown, []);
  assert.ok(!Object.entries(environment).some(([name, value]) => /SECRET$|TOKEN$|PASSWORD$/.test(name) && value));

  const example = readFileSync(join(root, '.env.example'), 'utf8');
  const named = [...example.matchAll(/^#?([A-Z][A-Z_]*)=/gm)].map((match) => match[1] ?? '');
  const read = (name: string) => name in environment || text.includes(`\${${name}`);
  assert.deepEqual(
    named.filter((name) => !read(name)),
    [],
  );
  assert.match(example, /^ALLOW_HTTP=false$/m);
  const http = Object.entries(environment).filter(([, value]) => String(value).includes('http://'));
  for (const [name, value] of http) assert.match(String(value), /http:\/\/(simulator:8090|registry:8080)\//, name);
});

test('what the services are told of each other is there: two listeners, ports, volumes, what is scraped and shown', () => {
  const kafka = service('kafka').environment ?? {};
  const addresses = (name: string) =>
    new Map(
      String(kafka[name])
        .split(',')
        .map((text) => text.split('://') as [string, string]),
    );
  const [listeners, advertised] = [addresses('KAFKA_LISTENERS'), addresses('KAFKA_ADVERTISED_LISTENERS')];
  const port = (address = '') => address.split(':')[1];
  assert.equal(advertised.get('INSIDE'), service('connector').environment?.KAFKA_BROKERS);
  assert.equal(advertised.get('HOST'), `localhost:${port(listeners.get('HOST'))}`);
  assert.equal(port(advertised.get('INSIDE')), port(listeners.get('INSIDE')));
  assert.deepEqual(service('kafka').ports, [`127.0.0.1:9092:${port(listeners.get('HOST'))}`]);

  const used = Object.values(services).flatMap(({ volumes: mounted = [] }) => mounted.map((one) => one.split(':')[0]));
  for (const name of Object.keys(volumes)) assert.ok(used.includes(name), name);
  for (const path of used) assert.match(path ?? '', /^\.\/|^\$\{SECRETS|^(kafka|prometheus)-data$/);

  const profiles = Object.fromEntries(Object.entries(services).map(([name, one]) => [name, one.profiles?.join()]));
  const base = { kafka: undefined, registry: undefined, simulator: undefined, connector: undefined };
  assert.deepEqual(profiles, { ...base, prometheus: 'observability', grafana: 'observability', ui: 'ui' });
  const scraping = readFileSync(join(root, 'config/prometheus/prometheus.yml'), 'utf8');
  assert.ok(scraping.includes("targets: ['connector:8083']"));
  assert.equal(service('connector').environment?.ADMIN_HOST, '0.0.0.0');
  const shown = readFileSync(join(root, 'config/grafana/provisioning/datasources/prometheus.yml'), 'utf8');
  assert.ok(shown.includes('url: http://prometheus:9090'));
  assert.equal(service('ui').environment?.KAFKA_CLUSTERS_0_KAFKACONNECT_0_ADDRESS, 'http://connector:8083');
});
