import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { libraryFolders } from './chromium.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('a library is found wherever its package keeps it', async (t) => {
  const root = temporaryFolder(t);
  const files = [
    'lib/x86_64-linux-gnu/libz.so.1',
    'usr/lib/x86_64-linux-gnu/libpulse.so.0.24.3',
    'usr/lib/x86_64-linux-gnu/libnss3.so',
    'usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so',
    'usr/lib/chromium/chromium-headless-shell',
    'usr/lib/chromium/locales/de.pak',
  ];
  for (const file of files) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await writeFile(join(root, file), '');
  }
  const folders = ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu/pulseaudio'];
  const expected = folders.map((folder) => join(root, folder));
  assert.deepEqual(await libraryFolders(root), expected);
});
