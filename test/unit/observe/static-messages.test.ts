import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const EVENT_TABLE = 'src/observe/event-table.ts';
const root = join(import.meta.dirname, '../../..');
const calls = globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/\blog\.(?:debug|info|warn|error)\(([\s\S]*?)\);?\n/g)].map(
    ([, call = '']) => ({ file, call: call.trim() }),
  ),
);

test('a log message is a fixed text, and what differs stands in fields: so lines can be searched and counted', () => {
  assert.ok(calls.length > 10, String(calls.length));
  const table = readFileSync(join(root, EVENT_TABLE), 'utf8');
  const [, rows = ''] = /const EVENTS[^=]*= \{(.*?)\n\};/s.exec(table) ?? [];
  const texts = [...rows.matchAll(/\btext: (.*?)[,\n}]/g)].map(([, text = '']) => text);
  assert.ok(texts.length > 30, String(texts.length));
  for (const text of texts) assert.match(text, /^'[^'`$]+'?/, text);
  // Those of the table are logged by one line.
  const others = calls.filter(({ file }) => file !== EVENT_TABLE);
  for (const { file, call } of others) assert.match(call, /,\s*'[^'`$]+',?\)*,?$/, `${file}: ${call}`);
});
