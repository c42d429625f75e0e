import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connectorEnvironment, settingsText, startProcess } from '../../support/connector-process.ts';
import { MAIN, settingsFile } from '../../support/settings-file.ts';
import { switchablePort } from '../../support/switchable-port.ts';
import { NO_PROVIDER, NOWHERE } from './nowhere.ts';

for (const command of ['tail instruments', 'topics verify']) {
  test(`${command} is stopped at once while Kafka does not answer`, { timeout: 240_000 }, async (t) => {
    const port = await switchablePort(t, 'hang');
    const file = await settingsFile(t, settingsText());
    const stack = { ...NOWHERE, brokers: [port.address] };
    const env = connectorEnvironment(stack, NO_PROVIDER, { TOPIC_PREFIX: 'p' });
    const { child, ended, lines } = startProcess(MAIN, [...command.split(' '), '--config', file], env);
    t.after(() => child.kill('SIGKILL'));
    while (port.connections() === 0) await delay(10);
    child.kill('SIGINT');
    assert.deepEqual([(await ended).code, lines], [0, []]);
  });
}
