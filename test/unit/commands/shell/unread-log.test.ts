import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectorEnvironment, settingsText } from '../../../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../../../support/connectors/settings-file.ts';
import { listeningAddresses } from '../../../support/network/listening-ports.ts';
import { portOf } from '../../../support/network/loopback-port.ts';
import { eventually } from '../../../support/runner/eventually.ts';
import { temporaryFolder } from '../../../support/runner/temporary-folder.ts';
import { NO_PROVIDER, NOWHERE } from './terminal.ts';

const END_LIMIT_MS = 600_000;

/** A pipe that is full, and that nobody reads; for the one who writes it is as a shell makes it. */
async function fullPipe(t: TestContext): Promise<number> {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(pipe, 'w');
  t.after(() => [reader, writer].map(closeSync));
  try {
    for (;;) writeSync(reader, Buffer.alloc(4_096));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
  }
  return writer;
}

/** `run` with both outputs in a full pipe, and a way to wait for its end that does not last. */
async function runUnread(t: TestContext, more: Readonly<Record<string, string>>) {
  const pipe = await fullPipe(t);
  const config = await settingsFile(t, settingsText());
  const env = connectorEnvironment(NOWHERE, NO_PROVIDER, { TOPIC_PREFIX: 'p', ADMIN_ENABLED: 'true', ...more });
  const child = spawn(process.execPath, [MAIN, 'run', '--config', config], { env, stdio: ['ignore', pipe, pipe] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const end = () => Promise.race([ended, once(AbortSignal.timeout(END_LIMIT_MS), 'abort').then(() => 'no end')]);
  return { child, end };
}

test('a connector whose output is read by nobody goes on, and stops when it is asked to', async (t) => {
  const { child, end } = await runUnread(t, { LOG_LEVEL: 'debug' });
  const ask = () => listeningAddresses(child.pid ?? 0);
  const [address] = await eventually('the admin server listens', ask, ({ length }) => length > 0);
  const answer = await fetch(`http://${address}/livez`, { signal: AbortSignal.timeout(600_000) });
  assert.equal(answer.status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await end(), [0, null]);
});

test('a connector that cannot go on ends, though nobody reads why', async (t) => {
  const port = await portOf(t, createServer());
  const { end } = await runUnread(t, { ADMIN_PORT: String(port) });
  assert.deepEqual(await end(), [1, null]);
});
