import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connectorEnvironment,
  settingsText,
  startProcess,
  watchProcess,
} from '../../../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../../../support/connectors/settings-file.ts';
import { switchablePort } from '../../../support/network/switchable-port.ts';
import { NO_PROVIDER, NOWHERE } from './terminal.ts';

const INTERRUPTED = 'SIGINT ended the command before it was done: its result is not known.';

for (const [command, hanging, code, said] of [
  ['tail instruments', 'Kafka', 0, []],
  ['tail instruments --until-end', 'Kafka', 130, [INTERRUPTED]],
  ['topics verify', 'Kafka', 130, [INTERRUPTED]],
  ['audit', 'Kafka', 130, [INTERRUPTED]],
  ['validate --connect', 'Kafka', 130, [INTERRUPTED]],
  ['validate --connect', 'the provider', 130, [INTERRUPTED]],
  ['doctor', 'the provider', 130, [INTERRUPTED]],
] as const) {
  test(`${command} ends with ${code} at once when it is stopped while ${hanging} hangs`, async (t) => {
    const port = await switchablePort(t, 'hang');
    const file = await settingsFile(t, settingsText());
    const stack = hanging === 'Kafka' ? { ...NOWHERE, brokers: [port.address] } : NOWHERE;
    const provider = hanging === 'Kafka' ? NO_PROVIDER : { ...NO_PROVIDER, tokenUrl: `http://${port.address}/t` };
    const env = connectorEnvironment(stack, provider, { TOPIC_PREFIX: 'p' });
    const { child, ended, lines } = startProcess(MAIN, [...command.split(' '), '--config', file], env);
    t.after(() => child.kill('SIGKILL'));
    while (port.connections() === 0) await delay(10);
    child.kill('SIGINT');
    assert.deepEqual([(await ended).code, lines], [code, said]);
  });
}

test('a signal that comes twice at once, as below npm, is one: the process ends in good order', async (t) => {
  const port = await switchablePort(t, 'hang');
  const file = await settingsFile(t, settingsText());
  const env = connectorEnvironment({ ...NOWHERE, brokers: [port.address] }, NO_PROVIDER, { TOPIC_PREFIX: 'p' });
  const { child, ended } = startProcess(MAIN, ['run', '--config', file], env);
  t.after(() => child.kill('SIGKILL'));
  while (port.connections() === 0) await delay(10);
  child.kill('SIGINT');
  await delay(20);
  child.kill('SIGINT');
  assert.equal((await ended).code, 0);
});

test('below npx, which passes no SIGTERM on, the end of its shell ends the process in good order', async (t) => {
  const line = `"${process.execPath}" "${MAIN}" simulate --instruments 1 --port 0 --output json; echo over`;
  const env = { ...process.env, npm_command: 'exec' };
  const shell = watchProcess(spawn('/bin/sh', ['-c', line], { env, stdio: ['ignore', 'pipe', 'ignore'] }));
  t.after(() => shell.child.kill('SIGKILL'));
  await shell.line('controlUrl');
  shell.child.kill('SIGKILL');
  // The process has the same output as its shell.
  await shell.ended;
});
