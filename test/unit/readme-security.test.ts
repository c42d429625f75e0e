import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SECURITY_README_FILE } from '../support/documents/readme-tables.ts';

/** Threats that must stand in the table; the others of the list are reported elsewhere. */
const THREATS = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S13', 'S15'];

const document = readFileSync(SECURITY_README_FILE, 'utf8');
const rows = document.split('\n').filter((line) => /^\| S\d+ /.test(line));

/** Every test that a row names, as file and title. */
function namedTests(row: string): readonly (readonly [file: string, title: string])[] {
  return [...row.matchAll(/\]\(([^)]+\.test\.ts)\): ("[^"]+"(?:, "[^"]+")*)/g)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
  );
}

function titlesIn(text: string): readonly string[] {
  return [...text.matchAll(/\btest\(\s*'([^'\n]+)'/g)].map(([, title = '']) => title);
}

test('every threat of the table is shown by tests that exist under these titles', () => {
  const threats = rows.map((row) => /^\| (S\d+) /.exec(row)?.[1]);
  assert.deepEqual(
    THREATS.filter((threat) => !threats.includes(threat)),
    [],
  );
  for (const row of rows) {
    const named = namedTests(row);
    assert.ok(named.length > 0, row);
    for (const [file, title] of named) {
      const text = readFileSync(new URL(file, SECURITY_README_FILE), 'utf8');
      assert.ok(titlesIn(text).includes(title), `${file} has no test "${title}"`);
    }
  }
});
