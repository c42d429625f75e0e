import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { writeShellFile } from '../../../../src/dev/demo/demo-settings.ts';

test('the file for another shell sets what spconnect needs there, and is gone with the demo', async () => {
  const cleanUp = new AsyncDisposableStack();
  const path = await writeShellFile(
    {
      settings: { prefix: `demo-${process.pid}` },
      stack: { brokers: ['127.0.0.1:1', '127.0.0.1:2'], registryUrl: 'http://127.0.0.1:3/apis' },
      simulator: {
        referenceDataUrl: 'http://127.0.0.1:4/reference-data',
        marketDataUrl: 'http://127.0.0.1:4/market-data',
        tokenUrl: 'http://127.0.0.1:4/oauth2/token',
        clientId: 'simulated-client',
        clientSecret: 'simulated-secret',
      },
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
    'http://127.0.0.1:4/reference-data',
    'http://127.0.0.1:4/market-data',
    'http://127.0.0.1:4/oauth2/token',
    'simulated-client',
    'simulated-secret',
  ]);
  await cleanUp.disposeAsync();
  assert.equal(existsSync(path), false);
});
