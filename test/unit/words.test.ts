import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
/** Words that a reader with English as a second language stumbles over, and plain ones. */
const PLAIN: Readonly<Record<string, string>> = {
  anew: 'again',
  lest: 'so that not',
  whoever: 'the caller, any code that',
  whilst: 'while',
  thereof: 'of it',
  "nobody's": 'of no one',
};

function linesOf(pattern: string, found: (line: string) => string | undefined): string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**', 'test/unit/words.test.ts'] })
    .flatMap((name) =>
      readFileSync(resolve(ROOT, name), 'utf8')
        .split('\n')
        .map((line) => [name, found(line)] as const),
    )
    .flatMap(([name, what]) => (what === undefined ? [] : [`${name}: ${what}`]));
}

test('words are plain', () => {
  const words = new RegExp(`\\b(${Object.keys(PLAIN).join('|')})\\b`, 'i');
  const wrong = linesOf('{*.md,{src,test,config,schemas}/**/*.{ts,js,sh,md,yml,yaml,json}}', (line) => {
    const word = words.exec(line)?.[0];
    return word && `says "${word}"; write: ${PLAIN[word.toLowerCase()]}`;
  });
  assert.deepEqual(wrong, []);
});

test('no message has lost the end of its sentence', () => {
  const found = linesOf('src/**/*.ts', (line) => (/[ ,;:]\.['"`]/.test(line) ? line : undefined));
  assert.deepEqual(found, []);
});
