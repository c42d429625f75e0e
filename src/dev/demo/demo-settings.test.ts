import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { demoEnvironment, demoSettings, writeShellFile } from './demo-settings.ts';

const SIMULATOR = {
  referenceDataUrl: 'http://127.0.0.1:1/reference-data',
  marketDataUrl: 'http://127.0.0.1:1/market-data',
  tokenUrl: 'http://127.0.0.1:1/token',
  clientId: 'id',
  clientSecret: 'some-secret',
};

const STACK = { brokers: ['127.0.0.1:1', '127.0.0.1:2'], registryUrl: 'http://127.0.0.1:3/apis' };

test('the demo walks every two minutes, and does not take prefix or secrets from the environment', async () => {
  const env = {
    TOPIC_PREFIX: 'production',
    CLIENT_SECRET_FILE: '/absent/secret',
    ADMIN_TOKEN: 'of-production',
    ADMIN_TOKEN_FILE: '/absent/token',
  };
  const own = demoEnvironment({ env, stack: STACK, simulator: SIMULATOR, prefix: 'demo-1', adminToken: 'of-the-demo' });
  const settings = await demoSettings({ ...env, ...own }, () => {});
  const walks = settings.sources.flatMap((source) => (source.type === 'instruments' ? source.walkIntervalMs : []));
  assert.deepEqual(walks, [120_000]);
  assert.equal(settings.prefix, 'demo-1');
  assert.equal(await settings.admin.token?.(), 'of-the-demo');
});

test('the file for another shell gives commands the settings of the demo; it is removed when the demo ends', async () => {
  const prefix = `demo-${process.pid}`;
  const env = { DAILY_PRICES: 'true' };
  const environment = demoEnvironment({ env, stack: STACK, simulator: SIMULATOR, prefix, adminToken: 'a-token' });
  const cleanUp = new AsyncDisposableStack();
  const path = await writeShellFile({ environment, statusPage: 'http://127.0.0.1:5' }, cleanUp);
  const elsewhere = { CLIENT_SECRET_FILE: '/absent/secret', SPCONNECT_CONFIG: '/absent/settings', POLL_INTERVAL: '9s' };
  const shown = execFileSync('sh', ['-c', '. "$0" && env', path], { env: elsewhere, encoding: 'utf8' });
  const sourced = Object.fromEntries(shown.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const shape = async (variables: Readonly<Record<string, string | undefined>>) =>
    JSON.stringify(await demoSettings(variables, () => {}));
  assert.equal(await shape(sourced), await shape({ ...environment, ADMIN_PORT: '5' }));
  assert.equal(sourced.CLIENT_SECRET, SIMULATOR.clientSecret);
  await cleanUp.disposeAsync();
  assert.equal(existsSync(path), false);
});

test('a wrong variable is reported before the demo starts anything', () => {
  const program = fileURLToPath(new URL('../../bin/spconnect.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'demo', '--once'], {
    env: { ...process.env, ADMIN_PORT: 'abc' },
    encoding: 'utf8',
  });
  assert.equal(status, 2);
  assert.match(stderr, /admin\.port: .*\n(.*\n)*Nothing was started/);
  assert.doesNotMatch(stdout + stderr, /Kafka/);
});
