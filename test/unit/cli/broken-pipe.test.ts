import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { MAIN, settingsFile } from '../../support/connectors/settings-file.ts';
import { settingsText } from '../config/settings-text.ts';

test('a listener to the talk that has gone changes neither data nor exit code', async () => {
  const child = spawn(process.execPath, [MAIN, 'nonsense'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stderr.destroy();
  const [[code]] = await Promise.all([once(child, 'close'), text(child.stdout)]);
  assert.equal(code, 2);
});

test('data that cannot be written is a failure', { skip: !existsSync('/dev/full') }, async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const [said, [code]] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')]);
  assert.equal(code, 1);
  assert.match(said, /^The data could not be written to stdout: ENOSPC[^\n]*\.\n$/);
});

test('a reader that has enough ends a command in good order', async (t) => {
  const file = await settingsFile(t, settingsText({}));
  const child = spawn(process.execPath, [MAIN, 'config', 'print', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.deepEqual([code, said], [0, '']);
});
