import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../../..');
const calls = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/\blog\.(?:debug|info|warn|error)\(([\s\S]*?)\);?\n/g)].map(
    ([, call = '']) => ({ file, call: call.trim() }),
  ),
);

test('a log message is a fixed text, and what differs stands in fields: so lines can be searched and counted', () => {
  assert.ok(calls.length > 10, String(calls.length));
  for (const { file, call } of calls) assert.match(call, /,\s*'[^'`$]+',?\)*,?$/, `${file}: ${call}`);
});
