import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { KAFKA_IMAGE, REGISTRY_IMAGE } from '../../src/dev/local-stack/docker-stack.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';
import { COMPOSE_TEXT, filledIn, service, services, volumes } from '../support/documents/compose-file.ts';
import { parseDockerfile } from '../support/documents/dockerfile.ts';
import { stackOrSkip } from '../support/kafka/stack.ts';

const CHECK_LIMIT_MS = 60_000;
const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

test('the compose file is valid by the specification', async (t) => {
  const python = await pythonWith(['check-jsonschema==0.39.0']);
  if (python === null) return t.skip('no python3 with check-jsonschema can be had here');
  const check = ['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec', join(root, 'docker-compose.yml')];
  await promisify(execFile)(python, check, { timeout: 900_000 });
});

test('every image has an exact version, and those that the tests start have the same', () => {
  for (const [name, { image }] of Object.entries(services)) assert.match(image, /:v?\d+\.\d+\.\d+$/, name);
  assert.equal(service('kafka').image, KAFKA_IMAGE);
  assert.equal(service('registry').image, REGISTRY_IMAGE);
  for (const name of ['simulator', 'connector']) {
    assert.equal(service(name).image, `structured-products-connect:${version}`);
  }
  const built = Object.keys(services).filter((name) => service(name).build !== undefined);
  assert.deepEqual(built, ['connector', 'prometheus', 'grafana'], 'our image is built once');
});

/** Numbers of the users that these images run as. */
const USERS: Readonly<Record<string, string>> = { prometheus: '65534:65534', grafana: '472:0' };

test('what Prometheus and Grafana read is copied for their users, so that no umask of the clone matters', () => {
  for (const [name, user] of Object.entries(USERS)) {
    const { build, volumes: mounted = [] } = service(name);
    assert.ok(typeof build === 'object', name);
    for (const one of mounted) assert.doesNotMatch(one, /^[./]/, `${name} mounts ${one} of the clone`);
    const instructions = parseDockerfile(build.dockerfile_inline);
    assert.match(instructions[0]?.text ?? '', /^\S+:v?\d+\.\d+\.\d+$/, 'its base has an exact version');
    const copied = instructions.filter((one) => one.name === 'COPY').map(({ text: words }) => words.split(' '));
    for (const [owner, ...paths] of copied) {
      assert.equal(owner, `--chown=${user}`);
      for (const path of paths.slice(0, -1)) assert.ok(existsSync(join(root, build.context, path)), path);
    }
    const used = copied.flatMap(([, ...paths]) => paths.slice(0, -1));
    const all = readdirSync(join(root, build.context)).filter((file) => !/\.(md|ts)$|\.test\.yml$/.test(file));
    assert.deepEqual(used.sort(), all.sort(), `${name} has every file that is not a test or a text`);
  }
});

test('no service has capabilities, can gain rights, goes without a limit, or listens beyond this machine', () => {
  for (const [name, one] of Object.entries(services)) {
    assert.deepEqual(one.cap_drop, ['ALL'], name);
    assert.deepEqual(one.security_opt, ['no-new-privileges:true'], name);
    const { cpus, memory } = one.deploy?.resources?.limits ?? {};
    assert.ok(cpus && memory, `${name} has limits`);
    for (const port of one.ports ?? []) assert.match(filledIn(port), /^127\.0\.0\.1:\d+:\d+$/, name);
  }
  for (const name of ['simulator', 'connector']) assert.equal(service(name).read_only, true);
});

test('every service has a health check, and nothing waits for one that has another profile', () => {
  for (const [name, { healthcheck, depends_on = {}, profiles = [] }] of Object.entries(services)) {
    assert.ok(healthcheck?.test.length, name);
    for (const other of Object.keys(depends_on)) {
      const isBeside = (service(other).profiles ?? profiles).every((profile) => profiles.includes(profile));
      assert.ok(isBeside, `${name} waits for ${other}`);
    }
  }
  assert.deepEqual(service('connector').depends_on, {
    kafka: { condition: 'service_healthy' },
    registry: { condition: 'service_healthy' },
  });
});

/** Variables that may hold a secret: a file may stand in their place. */
const SECRET = /(SECRET|PASSWORD|TOKEN|(HTTPS|REGISTRY)_PROXY)$/;
/** Compose decides these itself: it publishes the port, and names the server. */
const DECIDED = ['ADMIN_HOST', 'ADMIN_PORT', 'SPCONNECT_CONFIG'];

test('the connector is given every variable that its settings know, and no other, with the value that a user gives it', () => {
  const settings = readFileSync(join(root, 'config/connector.yaml'), 'utf8');
  const named = (text: string, pattern: RegExp) => [
    ...new Set([...text.matchAll(pattern)].map(([, name = '']) => name)),
  ];
  const variables = named(settings.replace(/^ *#.*$/gm, ''), /\$\{([A-Z_]+)/g);
  const files = variables.filter((name) => SECRET.test(name)).map((name) => `${name}_FILE`);
  const environment = service('connector').environment ?? {};
  assert.deepEqual(Object.keys(environment).sort(), [...variables, ...files, 'SPCONNECT_CONFIG'].sort());
  for (const [name, value] of Object.entries(environment)) {
    if (DECIDED.includes(name)) continue;
    assert.ok(value === null || String(value).includes(`\${${name}`), `${name}: ${value} is not what a user gives`);
  }
  assert.ok(!Object.entries(environment).some(([name, value]) => /SECRET$|TOKEN$|PASSWORD$/.test(name) && value));
  assert.equal(service('connector').ports?.[0], `127.0.0.1:\${ADMIN_PORT:-8083}:${environment.ADMIN_PORT}`);

  const example = readFileSync(join(root, '.env.example'), 'utf8');
  const given = Object.keys(environment).filter((name) => environment[name] === null);
  const usable = new Set([...named(COMPOSE_TEXT, /\$\{(\w+)/g), ...given]);
  assert.deepEqual(named(example, /^#?([A-Z][A-Z_]*)=/gm).sort(), [...usable].sort(), '.env.example and compose agree');
  assert.match(example, /^ALLOW_HTTP=false$/m);
  const http = Object.entries(environment).filter(([, value]) => String(value).includes('http://'));
  for (const [name, value] of http) assert.match(String(value), /http:\/\/(simulator:8090|registry:8080)\//, name);
});

test('one variable mounts a settings file of a user, and all commands in the container take it', () => {
  const { environment = {}, volumes: mounts = [] } = service('connector');
  const [, mount = ''] = mounts;
  const [file = '', place] = filledIn(mount, { SETTINGS: './my.yaml' }).split(':');
  assert.deepEqual([file, filledIn(String(environment.SPCONNECT_CONFIG), { SETTINGS: file })], ['./my.yaml', place]);
  assert.equal(filledIn(String(environment.SPCONNECT_CONFIG)), '', 'the usual file of the image');
  const [usual = ''] = filledIn(mount).split(':');
  assert.ok(existsSync(join(root, usual)));
});

test("Kafka's health check asks the broker, and starts no JVM for it", async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const [, program = '', ...words] = service('kafka').healthcheck?.test ?? [];
  assert.equal(program, 'bash');
  const check = async (address: string, limitMs = CHECK_LIMIT_MS) => {
    // Compose makes one $ of two.
    const args = words.map((word) => word.replaceAll('$$', '$').replace('127.0.0.1/9092', address.replace(':', '/')));
    const outcome = promisify(execFile)(program, args, { timeout: limitMs });
    return outcome.then(
      () => 'healthy',
      (error: { killed?: boolean }) => (error.killed ? 'no end' : 'unhealthy'),
    );
  };
  const [broker = ''] = stack.brokers;
  assert.equal(await check(broker), 'healthy');
  assert.equal(await check('127.0.0.1:1'), 'unhealthy');
  // Something else that listens there, and closes or says nothing.
  assert.notEqual(await check(new URL(stack.registryUrl).host, 5_000), 'healthy');
});

test('what the services need of each other is there: two listeners, ports, volumes, what is scraped and shown', () => {
  const kafka = service('kafka').environment ?? {};
  const addresses = (name: string) =>
    new Map(
      String(kafka[name])
        .split(',')
        .map((text) => text.split('://') as [string, string]),
    );
  const [listeners, advertised] = [addresses('KAFKA_LISTENERS'), addresses('KAFKA_ADVERTISED_LISTENERS')];
  const port = (address = '') => address.split(':')[1];
  const ofUi = service('ui').environment ?? {};
  const ofConnector = service('connector').environment ?? {};
  assert.equal(advertised.get('INSIDE'), filledIn(String(ofConnector.KAFKA_BROKERS)));
  assert.equal(ofUi.KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS, ofConnector.KAFKA_BROKERS);
  assert.equal(ofUi.KAFKA_CLUSTERS_0_SCHEMAREGISTRY, ofConnector.SCHEMA_REGISTRY_URL);
  assert.equal(advertised.get('HOST'), `localhost:${port(listeners.get('HOST'))}`);
  assert.equal(port(advertised.get('INSIDE')), port(listeners.get('INSIDE')));
  assert.deepEqual(service('kafka').ports, [`127.0.0.1:9092:${port(listeners.get('HOST'))}`]);

  const used = Object.values(services).flatMap(({ volumes: mounted = [] }) => mounted.map((one) => one.split(':')[0]));
  for (const name of Object.keys(volumes)) assert.ok(used.includes(name), name);
  for (const path of used) assert.match(path ?? '', /^\.\/|^\$\{(SECRETS|SETTINGS)|^(kafka|prometheus)-data$/);

  const profiles = Object.fromEntries(Object.entries(services).map(([name, one]) => [name, one.profiles?.join()]));
  const base = { kafka: undefined, registry: undefined, simulator: undefined, connector: undefined };
  assert.deepEqual(profiles, { ...base, prometheus: 'observability', grafana: 'observability', ui: 'ui' });
  const scraping = readFileSync(join(root, 'config/prometheus/prometheus.yml'), 'utf8');
  assert.ok(scraping.includes("targets: ['connector:8083']"));
  assert.equal(service('connector').environment?.ADMIN_HOST, '0.0.0.0');
  const shown = readFileSync(join(root, 'config/grafana/provisioning/datasources/prometheus.yml'), 'utf8');
  assert.ok(shown.includes('url: http://prometheus:9090'));
  assert.equal(ofUi.KAFKA_CLUSTERS_0_KAFKACONNECT_0_ADDRESS, 'http://connector:8083');
  assert.match(String(ofConnector.ADMIN_ALLOWED_HOSTS), /^connector,/, 'both ask for it by its name');
});
