import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runWith } from '../terminal.ts';

/** Nothing listens there. */
const ELSEWHERE = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };

test('tail and status need nothing of the provider: no address, no login and no secret', async () => {
  const tail = await runWith(['tail', 'instruments', '--until-end'], { env: ELSEWHERE });
  assert.match(tail.stderr, /^KAFKA_UNREACHABLE: /);
  const status = await runWith(['status'], { env: { ...ELSEWHERE, ADMIN_PORT: '1' } });
  assert.match(status.stderr, /^ADMIN_UNREACHABLE: /);
  const secretFile = { ...ELSEWHERE, ADMIN_PORT: '1', CLIENT_SECRET_FILE: '/nowhere/secret' };
  assert.match((await runWith(['status'], { env: secretFile })).stderr, /^ADMIN_UNREACHABLE: /);
});
