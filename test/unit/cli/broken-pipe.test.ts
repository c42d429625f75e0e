import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { MAIN, settingsFile } from '../../support/settings-file.ts';
import { settingsText } from '../config/settings-text.ts';

test('a reader that has enough ends a command in good order', async (t) => {
  const file = await settingsFile(t, settingsText({}));
  const child = spawn(process.execPath, [MAIN, 'config', 'print', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.deepEqual([code, said], [0, '']);
});
