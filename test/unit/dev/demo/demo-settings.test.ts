import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoSettings } from '../../../../src/dev/demo/demo-settings.ts';

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
