// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { answersWell, livenessUrl } from '../../../../src/commands/shell/health-probe.ts';
import { DEFAULT_SETTINGS_FILE } from '../../../../src/config/load.ts';
import { temporaryFolder } from '../../../support/runner/temporary-folder.ts';
import { serve } from '../../provider/http/loopback.ts';

const root = resolve(import.meta.dirname, '../../../..');
const PROBE = join(root, 'src/commands/shell/health-probe.ts');
const DEFAULT_SETTINGS = readFileSync(join(root, DEFAULT_SETTINGS_FILE), 'utf8');

/** Where a process is asked with this environment, these words of its first process, and these files. */
function askedAt(
  env: Readonly<Record<string, string>> = {},
  words: readonly string[] = RUN,
  files: Readonly<Record<string, string>> = { [DEFAULT_SETTINGS_FILE]: DEFAULT_SETTINGS },
): Promise<string | null> {
  const all: Readonly<Record<string, string>> = { ...files, '/proc/1/cmdline': `${words.join('\0')}\0` };
  return livenessUrl({
    env,
    read: async (path) => all[path] ?? assert.fail(`there is no ${path}`),
  });
}

const RUN = ['node', 'dist/main.js', 'run'];
const OWN = { [DEFAULT_SETTINGS_FILE]: DEFAULT_SETTINGS, '/etc/own.yaml': 'admin: { host: 0.0.0.0, port: 9100 }' };
const usual = (text: string) => ({ [DEFAULT_SETTINGS_FILE]: text });

test('it asks where the settings of the process, whichever file they are, place the admin server', async () => {
  for (const [asked, address] of [
    [askedAt(), '127.0.0.1:8083'],
    [askedAt({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '9000' }), '127.0.0.1:9000'],
    [askedAt({ ADMIN_HOST: '::', ADMIN_PORT: '' }), '127.0.0.1:8083'],
    [askedAt({ ADMIN_HOST: '::1' }), '[::1]:8083'],
    [askedAt({ SPCONNECT_CONFIG: '/etc/own.yaml' }, RUN, OWN), '127.0.0.1:9100'],
    [askedAt({ ADMIN_PORT: '9000' }, [...RUN, '--config', '/etc/own.yaml'], OWN), '127.0.0.1:9100'],
    [askedAt({}, ['/sbin/docker-init', '--', ...RUN, '--config=/etc/own.yaml'], OWN), '127.0.0.1:9100'],
    [askedAt({}, RUN, usual('admin: { port: "9200" }')), '127.0.0.1:9200'],
    [askedAt({}, RUN, usual('prefix: without')), '127.0.0.1:8083'],
  ] as const) {
    assert.equal(await asked, `http://${address}/livez`);
  }
});

test('where no admin server can be asked there is no address: it is off, or has a port that the system chose', async () => {
  for (const text of ['admin: { enabled: false }', 'admin: { enabled: "${ON}" }', 'admin: { port: 0 }']) {
    assert.equal(await askedAt({ ON: 'false' }, RUN, usual(text)), null, text);
  }
});

test('as a program it is well where there is nothing to ask', async (t) => {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, 'config'));
  const check = async (settings: string) => {
    await writeFile(join(folder, DEFAULT_SETTINGS_FILE), settings);
    const child = spawn(process.execPath, [PROBE], { cwd: folder, env: {}, stdio: 'inherit' });
    return (await once(child, 'exit'))[0];
  };
  assert.equal(await check('admin: { enabled: false }'), 0);
  assert.equal(await check('admin: { port: 1 }'), 1);
});

test('success alone is healthy: no other status, no redirect, and nobody who listens', async (t) => {
  let status = 200;
  const { url, server } = await serve(t, (_, response) => response.writeHead(status, { location: '/' }).end('x'));
  assert.equal(await answersWell(url), true);
  for (status of [302, 404, 500, 503]) assert.equal(await answersWell(url), false, String(status));
  server.closeAllConnections();
  assert.equal(await answersWell('http://127.0.0.1:1'), false);
});
