import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { NO_PROVIDER, NOWHERE, runWith } from './shell/terminal.ts';

const ELSEWHERE = { KAFKA_BROKERS: NOWHERE.brokers.join(), SCHEMA_REGISTRY_URL: NOWHERE.registryUrl };

/** Every command that asks Kafka or the registry alone, and what it ends with where nothing answers. */
const COMMANDS: readonly (readonly [line: string, code: string])[] = [
  ['tail instruments --until-end', 'KAFKA_UNREACHABLE'],
  ['offsets list', 'KAFKA_UNREACHABLE'],
  ['offsets set instruments --since 1-0', 'KAFKA_UNREACHABLE'],
  ['dead-letters list', 'KAFKA_UNREACHABLE'],
  ['pause instruments', 'KAFKA_UNREACHABLE'],
  ['restart prices', 'KAFKA_UNREACHABLE'],
  ['walk instruments', 'KAFKA_UNREACHABLE'],
  ['topics verify', 'KAFKA_UNREACHABLE'],
  ['schemas list', 'REGISTRY_UNREACHABLE'],
];

test('commands that do not ask the provider need nothing of it: no address, no login and no secret', async () => {
  const signing = { CLIENT_AUTHENTICATION: 'private_key_jwt', CLIENT_KEY_FILE: '/no/key', PROVIDER_CA_FILE: '/no' };
  for (const more of [{}, { CLIENT_SECRET_FILE: '/nowhere/secret' }, signing] as Record<string, string>[]) {
    const { stderr } = await runWith(['status'], { env: { ...ELSEWHERE, ADMIN_PORT: '1', ...more } });
    assert.match(stderr, /^ADMIN_UNREACHABLE: /);
  }
  const ran = await Promise.all(COMMANDS.map(([line]) => runWith(line.split(' '), { env: ELSEWHERE })));
  const refusals = ran.map(({ stderr }, at) => [COMMANDS[at]?.[0], stderr.split(':')[0]]);
  assert.deepEqual(refusals, COMMANDS);
  assert.match(
    ran[0]?.stderr ?? '',
    /^\w+: Kafka does not answer at 127\.0\.0\.1:1 \(.*kafka\.brokers \(KAFKA_BROKERS\)/,
  );
});

test('a processor that has nothing to price is refused before Kafka is asked for anything', {
  timeout: 1_200_000,
}, async (t) => {
  const config = await settingsFile(t, settingsText());
  const env = connectorEnvironment(NOWHERE, NO_PROVIDER, { TOPIC_PREFIX: 'p', LOG_LEVEL: 'error' });
  const { code, stderr } = await runWith(['run', '--roles', 'processor', '--config', config], {
    env,
    signal: t.signal,
  });
  assert.equal(code, 2, stderr);
  assert.match(stderr, /^SETTINGS_INVALID: There is nothing to price: set marketData\.url/);
});

test('a topic or a source that the settings do not have is refused with those that they have', async () => {
  const topic = await runWith(['tail', 'instrumens'], { env: ELSEWHERE });
  assert.equal(topic.code, 2);
  assert.match(topic.stderr, /have: instruments, instrument-events.*\n\(Did you mean instruments\?/);
  assert.match(
    (await runWith(['pause', 'x'], { env: ELSEWHERE })).stderr,
    /unknown source "x"\. The settings enable: inst/,
  );
  const walk = await runWith(['walk', 'instruments', '--ids', '3'], { env: ELSEWHERE });
  assert.deepEqual([walk.code, walk.stderr.split('\n')[0]], [2, 'error: --ids and --settle need --dry-run']);
});
