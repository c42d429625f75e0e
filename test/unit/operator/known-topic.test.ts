import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { knownTopic } from '../../../src/operator/known-topic.ts';
import { settingsText } from '../config/settings-text.ts';

test('a topic is known by its whole name and without the prefix, that of a backfill too', async () => {
  const settings = await loadSettings({ text: settingsText({}), env: {} });
  const { prefix } = settings;
  // Daily prices are not followed by these settings, and can be backfilled.
  for (const name of ['instruments', 'prices', 'daily-prices', 'intraday-prices', `${prefix}.daily-prices`]) {
    assert.equal(knownTopic(settings, name).name, name.startsWith(prefix) ? name : `${prefix}.${name}`);
  }
  assert.throws(() => knownTopic(settings, 'instrument'), {
    code: 'SETTINGS_INVALID',
    message: /Did you mean instruments\?/,
  });
});
