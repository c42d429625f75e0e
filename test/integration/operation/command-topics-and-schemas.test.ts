import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { ERROR_CODES } from '../../../src/errors.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { installation, testInstallation } from '../../support/connectors/installation.ts';
import { portOf } from '../../support/network/loopback-port.ts';

testInstallation(
  'missing topics are reported with an exit code, created, and then as they should be',
  {},
  async (_t, scene) => {
    const { prefix, kafka } = scene;
    const before = await scene.spconnect('topics verify --output json');
    assert.equal(before.code, 1);
    const states = (text: string) => new Set((JSON.parse(text) as { state: string }[]).map(({ state }) => state));
    assert.deepEqual(states(before.stdout), new Set(['missing']));
    assert.match(
      before.stderr,
      new RegExp(`kafka-topics.sh --bootstrap-server \\S+ --create --topic ${prefix}.instruments --partitions 6`),
    );

    // One is there with another partition count, one with another setting.
    const plan = topicPlan({ prefix, names: {}, partitions: 6, replicationFactor: 1 });
    const other = { ...plan.notifications, settings: { ...plan.notifications.settings, 'retention.ms': '1000000' } };
    await kafka.ensureTopics([{ ...plan.instruments, partitions: 2 }, other], { create: true });
    const created = await scene.spconnect('topics create');
    assert.equal(created.code, 1);
    assert.match(created.stdout, new RegExp(`^${prefix}.instruments +wrong$`, 'm'));
    assert.match(created.stdout, new RegExp(`^${prefix}.notifications +differs$`, 'm'));
    assert.match(created.stdout, new RegExp(`^${prefix}.offsets +created$`, 'm'));
    assert.match(created.stderr, /has 2 partitions, but the connector expects 6/);
    assert.match(
      created.stderr,
      /has retention.ms=1000000.*kafka-configs.sh --bootstrap-server <broker> --alter .*--add-config retention.ms=/,
    );
    assert.match((await scene.spconnect('topics verify')).stdout, new RegExp(`^${prefix}.offsets +ok$`, 'm'));
    const { stdout } = await scene.spconnect('validate --connect');
    assert.match(stdout, new RegExp(`^differs +topic ${prefix}.notifications .*retention.ms=1000000`, 'm'));
  },
);

testInstallation('schemas are listed and registered without a connector', {}, async (_t, scene) => {
  const { prefix } = scene;
  const before = await scene.spconnect('schemas list --output json');
  assert.equal(before.code, 0);
  const states = JSON.parse(before.stdout).map(({ state }: { state: string }) => state);
  assert.deepEqual(states, ['accepted', 'accepted', 'accepted']);
  assert.equal((await scene.spconnect('schemas register')).code, 0);
  const [listed] = JSON.parse((await scene.spconnect('schemas list --output json')).stdout);
  assert.equal(listed.subject, `${prefix}.instruments-value`);
  assert.equal(listed.compatibility, 'FULL_TRANSITIVE');
  assert.equal(listed.versions.length, 1);
  assert.equal(listed.versions[0].isOurs, true);
  assert.match((await scene.spconnect('schemas list')).stdout, /instruments-value +Instrument +registered +FULL_T/m);
});

testInstallation('a schema that the registry would refuse is reported with an exit code', {}, async (_t, scene) => {
  const { prefix, stack } = scene;
  const fields = [{ name: 'id', type: 'string' }];
  const foreign = JSON.stringify({ type: 'record', name: 'Instrument', namespace: 'other', fields });
  const subject = `${stack.registryUrl}/subjects/${prefix}.instruments-value/versions`;
  const headers = { 'content-type': 'application/json' };
  const config = `${stack.registryUrl}/config/${prefix}.instruments-value`;
  await fetch(subject, { method: 'POST', headers, body: JSON.stringify({ schema: foreign }) });
  await fetch(config, { method: 'PUT', headers, body: JSON.stringify({ compatibility: 'FULL_TRANSITIVE' }) });
  const { code, stdout, stderr } = await scene.spconnect('schemas list');
  assert.equal(code, 1, stdout);
  assert.match(stdout, /instruments-value +Instrument +incompatible /m);
  assert.match(stderr, /use other topics/);
  const connected = await scene.spconnect('validate --connect');
  assert.equal(connected.code, 1);
  assert.match(connected.stdout, /^failed +subject .*instruments-value .*not compatible/m);
  const unregistered = await scene.spconnect('validate --connect', { REGISTER: 'false' });
  assert.match(unregistered.stdout, /^failed +subject .*instruments-value .*not compatible/m);
});

test('what the settings name is tried, each with what is wrong and what to do', async (t) => {
  const more = `
marketData: { url: "\${MARKET_DATA_URL:-}" }
prices: { kinds: { daily: { enabled: true } } }
topics: { replicationFactor: "\${REPLICATION_FACTOR:-1}" }`;
  const scene = await installation(t, { more });
  if (!scene) return;
  const good = await scene.spconnect('validate --connect', { MARKET_DATA_URL: scene.simulator.marketDataUrl });
  for (const kind of ['overview', 'daily'])
    assert.match(good.stdout, new RegExp(`^ok +prices of marketData, ${kind} +it responds to a bulk request`, 'm'));
  assert.match(good.stdout, /^ok +topic .*\.prices +will be created$/m);
  assert.match(good.stdout, /^ok +subject .*\.prices-value +will be registered$/m);
  assert.equal(good.code, 0, good.stdout);
  assert.match(good.stdout, /^ok +first page of source instruments +it can be read, and so can its stream$/m);
  assert.match(good.stdout, /^ok +topic .*\.offsets +will be created$/m);
  assert.match(good.stdout, /^ok +subject .*instruments-value +will be registered$/m);

  const refused = await scene.spconnect('validate --connect', { CLIENT_SECRET: 'canary-4711' });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stdout,
    /^failed +credentials of referenceData .*check tokenUrl, clientId, clientSecret \(or clientSecretFile\) and scope of referenceData\.auth/m,
  );
  assert.doesNotMatch(refused.stdout, /^(ok|skipped)[\s\S]*^failed/m, 'failures come first');
  assert.match(refused.stdout, /^skipped +first page of source instruments/m);
  assert.ok(!`${refused.stdout}${refused.stderr}`.includes('canary'));

  // More replicas than there are brokers: the connector could not create its topics.
  const none = await scene.spconnect('validate --connect', { REPLICATION_FACTOR: '7' });
  assert.equal(none.code, 1);
  assert.match(none.stdout, /^failed +topic .*\.instruments +Kafka refuses .*INVALID_REPLICATION_FACTOR/m);

  // Not the market data interface: a place that answers 404 to everything, and a server that answers something else.
  const MARKET_DATA_URL = `${scene.simulator.marketDataUrl}/wrong`;
  const elsewhere = await scene.spconnect('validate --connect', { MARKET_DATA_URL });
  assert.equal(elsewhere.code, 1, elsewhere.stdout);
  assert.match(
    elsewhere.stdout,
    /^failed +prices of marketData, overview +POST http[^ ]+\/wrong\/[^ ]+ .*404.*check marketData\.url \(MARKET_DATA_URL\)/m,
  );
  assert.match(elsewhere.stdout, /^failed +prices of marketData, daily +the same as prices of marketData, overview$/m);
  const foreign = createServer((_, response) =>
    response.setHeader('content-type', 'application/json').end('{"ok":true}'),
  );
  const port = await portOf(t, foreign);
  const other = await scene.spconnect('validate --connect', { MARKET_DATA_URL: `http://127.0.0.1:${port}` });
  const says = /^failed +prices of marketData, overview .*wrong form: expected a list of "items".*MARKET_DATA_URL/m;
  assert.match(other.stdout, says);

  const edits = [{ pointer: '/instruments', value: '[]' }];
  scene.simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'edit', edits } }]);
  const empty = await scene.spconnect('validate --connect');
  assert.match(empty.stdout, /^ok +first page of source instruments +it can be read, but it has no instruments/m);
  scene.simulator.clearFaults();

  // The provider in the place of the registry.
  const wrong = { SCHEMA_REGISTRY_URL: scene.simulator.referenceDataUrl };
  const mistaken = await scene.spconnect('validate --connect', wrong);
  assert.equal(mistaken.code, 1);
  assert.match(mistaken.stdout, /^failed +schema registry .*\/apis\/ccompat\/v7/m);
  assert.equal((await scene.spconnect('schemas list', wrong)).code, 1);

  const nowhere = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
  const alone = JSON.parse((await scene.spconnect('validate --connect --output json', nowhere)).stdout);
  const failed = alone.checks.filter(({ state }: { state: string }) => state === 'failed');
  assert.deepEqual(
    failed.map(({ what, toDo }: { what: string; toDo: string }) => [what, toDo]),
    [
      ['brokers 127.0.0.1:1', ERROR_CODES.KAFKA_UNREACHABLE.remedy],
      ['schema registry', ''],
    ],
  );
  scene.simulator.injectFaults([{ match: 'events', count: 0, fault: { kind: 'status', status: 403 } }]);
  const closed = await scene.spconnect('validate --connect');
  assert.match(closed.stdout, /^failed +first page of source instruments +GET .*\/events .*403/m);
});
