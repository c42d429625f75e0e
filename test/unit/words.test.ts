import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

// Words that are not used, each with what to write instead.
const DIALECT: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b(told|tells?)\b/gi, 'report, say, show, inform'],
  [/\bwhoever\b/gi, 'the caller, any code that'],
  [/\bnobody['’]s\b/gi, 'of no one'],
  [/\banew\b/gi, 'again'],
  [/\blest\b/gi, 'so that not'],
  [/\bwhere (an?|the) [\w "-]+ (is|are) due\b/gi, 'was expected'],
  [/\bnone that\b/gi, 'not one that'],
  [/\bof ours\b/gi, 'of the connector, the committed one'],
  [/(?<![-/])\bstandings?\b(?!-)/gi, 'run state'],
  [/\blaps?\b/gi, 'writer session'],
  [/\btrials?\b/gi, 'verification'],
  [/\bbeats?\b/gi, 'notify'],
  [/\bshar(e|es|ed|ing) out\b/gi, 'assign'],
];

// How many of them a file still has; may only shrink. A transactional id keeps its name, since accounts have rights on it.
const STILL_THERE: Readonly<Record<string, number>> = {
  'src/run/source-partitions.ts': 1,
  'test/integration/sources/neighbours-share-a-writer.test.ts': 1,
};

const ROOT = resolve(import.meta.dirname, '../..');
const TEXTS = /\.(ts|js|sh|md|ya?ml|json)$/;
// Its texts are those of the registered schemas.
const GENERATED = 'src/records/avro/generated/';

function texts(): string[] {
  const inside = ['src', 'test', 'config', 'schemas'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return ['README.md', ...inside].filter(
    (name) => TEXTS.test(name) && !name.startsWith(GENERATED) && join(ROOT, name) !== import.meta.filename,
  );
}

test('no word of the dialect', () => {
  const wrong = texts().flatMap((name) => {
    const text = readFileSync(join(ROOT, name), 'utf8');
    const found = DIALECT.flatMap(([word, instead]) =>
      [...text.matchAll(word)].map(([said]) => `says "${said}"; write: ${instead}`),
    );
    return found.length > (STILL_THERE[name] ?? 0) ? found.map((what) => `${name}: ${what}`) : [];
  });
  assert.deepEqual(wrong, []);
});

test('a file that no longer has such a word leaves the list', () => {
  const stale = Object.entries(STILL_THERE).filter(([name, count]) => {
    const text = readFileSync(join(ROOT, name), 'utf8');
    return DIALECT.reduce((sum, [word]) => sum + [...text.matchAll(word)].length, 0) < count;
  });
  assert.deepEqual(stale, []);
});

test('no message has lost the end of its sentence', () => {
  const wrong = texts()
    .filter((name) => name.startsWith('src/') && name.endsWith('.ts'))
    .flatMap((name) => readFileSync(join(ROOT, name), 'utf8').split('\n'))
    .filter((line) => /[ ,;:]\.['"`]/.test(line));
  assert.deepEqual(wrong, []);
});
