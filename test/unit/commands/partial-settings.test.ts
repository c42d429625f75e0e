import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runWith } from './shell/terminal.ts';

/** Nothing listens there. */
const ELSEWHERE = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };

/** Every command that asks Kafka or the registry alone, and what it ends with where nothing answers. */
const COMMANDS: readonly (readonly [line: string, code: string])[] = [
  ['tail instruments --until-end', 'KAFKA_UNREACHABLE'],
  ['offsets list', 'KAFKA_UNREACHABLE'],
  ['offsets set instruments --since 1-0', 'KAFKA_UNREACHABLE'],
  ['dead-letters list', 'KAFKA_UNREACHABLE'],
  ['pause instruments', 'KAFKA_UNREACHABLE'],
  ['restart prices', 'KAFKA_UNREACHABLE'],
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
  assert.deepEqual(
    ran.map(({ stderr }, at) => [COMMANDS[at]?.[0], stderr.split(':')[0]]),
    COMMANDS,
  );
  assert.match(
    ran[0]?.stderr ?? '',
    /^\w+: Kafka does not answer at 127\.0\.0\.1:1 \(.*kafka\.brokers \(KAFKA_BROKERS\)/,
  );
});
