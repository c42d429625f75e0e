import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../../support/connectors/settings-file.ts';

const ROWS = 200;
const NOWHERE = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };

/** A command with more data than a pipe holds, which has begun to write them and whose reader waits for two seconds. */
async function previewUnread(t: TestContext) {
  const simulator = await createSimulator({ instruments: ROWS, seed: 3, port: 0 });
  t.after(() => simulator.close());
  const file = await settingsFile(t, settingsText());
  const args = ['preview', 'instruments', '--limit', String(ROWS), '--output', 'json', '--config', file];
  const env = connectorEnvironment(NOWHERE, simulator, { TOPIC_PREFIX: 'p' });
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await once(child.stdout, 'readable');
  await delay(2_000);
  return { child, ended };
}

test('a reader that is slow gets all the data', { timeout: 1_200_000 }, async (t) => {
  const { child, ended } = await previewUnread(t);
  const lines = (await text(child.stdout)).trimEnd().split('\n');
  assert.deepEqual([lines.length, (await ended)[0]], [ROWS, 0]);
  for (const line of lines) JSON.parse(line);
});

test('data that are not read hold up no end that was asked for', { timeout: 1_200_000 }, async (t) => {
  const { child, ended } = await previewUnread(t);
  child.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
});
