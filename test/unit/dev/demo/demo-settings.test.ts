import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { demoSettings, writeShellFile } from '../../../../src/dev/demo/demo-settings.ts';

const SIMULATOR = {
  referenceDataUrl: 'http://127.0.0.1:1/reference-data',
  marketDataUrl: 'http://127.0.0.1:1/market-data',
  tokenUrl: 'http://127.0.0.1:1/token',
  clientId: 'id',
  clientSecret: 'some-secret',
};

test('the demo walks every two minutes, and takes from the environment neither prefix nor secret', async () => {
  const settings = await demoSettings({
    env: {
      TOPIC_PREFIX: 'production',
      CLIENT_SECRET_FILE: '/absent/secret',
      ADMIN_TOKEN: 'of-production',
      ADMIN_TOKEN_FILE: '/absent/token',
    },
    stack: { brokers: ['127.0.0.1:2'], registryUrl: 'http://127.0.0.1:3' },
    simulator: SIMULATOR,
    prefix: 'demo-1',
    adminToken: 'of-the-demo',
    onSecret: () => {},
  });
  const walks = settings.sources.flatMap((source) => (source.type === 'instruments' ? source.walkIntervalMs : []));
  assert.deepEqual(walks, [120_000]);
  assert.equal(settings.prefix, 'demo-1');
  assert.equal(await settings.admin.token?.(), 'of-the-demo');
});

test('the file for another shell sets what spconnect needs there, and is gone with the demo', async () => {
  const cleanUp = new AsyncDisposableStack();
  const path = await writeShellFile(
    {
      settings: { prefix: `demo-${process.pid}` },
      stack: { brokers: ['127.0.0.1:1', '127.0.0.1:2'], registryUrl: 'http://127.0.0.1:3/apis' },
      simulator: SIMULATOR,
      statusPage: 'http://127.0.0.1:5',
    },
    cleanUp,
  );
  const names = ['TOPIC_PREFIX', 'ADMIN_PORT', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'REFERENCE_DATA_URL'];
  const more = ['MARKET_DATA_URL', 'AUTH_TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET'];
  const print = `. "$0" && printf '%s\\n' ${[...names, ...more].map((name) => `"$${name}"`).join(' ')}`;
  assert.deepEqual(execFileSync('sh', ['-c', print, path], { env: {}, encoding: 'utf8' }).trim().split('\n'), [
    `demo-${process.pid}`,
    '5',
    '127.0.0.1:1,127.0.0.1:2',
    'http://127.0.0.1:3/apis',
    SIMULATOR.referenceDataUrl,
    SIMULATOR.marketDataUrl,
    SIMULATOR.tokenUrl,
    SIMULATOR.clientId,
    SIMULATOR.clientSecret,
  ]);
  await cleanUp.disposeAsync();
  assert.equal(existsSync(path), false);
});
