import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { NO_PROVIDER, NOWHERE, runWith } from './shell/terminal.ts';

test('a processor that has nothing to price is refused before Kafka is asked for anything', {
  timeout: 1_200_000,
}, async (t) => {
  const config = await settingsFile(t, settingsText());
  const env = connectorEnvironment(NOWHERE, NO_PROVIDER, { TOPIC_PREFIX: 'p', LOG_LEVEL: 'error' });
  const { code, stderr } = await runWith(['run', '--roles', 'processor', '--config', config], {
    env,
    signal: t.signal,
  });
  assert.equal(code, 2, stderr);
  assert.match(stderr, /^SETTINGS_INVALID: There is nothing to price: set marketData\.url/);
});
