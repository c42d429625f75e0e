import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cachedFolder } from '../../../../src/dev/local-stack/java-artifacts.ts';
import { systemClock } from '../../../../src/support/clock.ts';

async function cache(t: TestContext): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'cached-folder-test-'));
  t.after(() => rm(root, { recursive: true }));
  return join(root, 'deep/cache');
}

async function fillWith(partial: string, text: string): Promise<string> {
  await mkdir(join(partial, 'files'));
  await writeFile(join(partial, 'files/content'), text);
  return join(partial, 'files');
}

test('two that fill the same folder at once both get one whole folder', async (t) => {
  const root = await cache(t);
  const folder = join(root, 'kafka');
  const bothFilled = Promise.withResolvers<void>();
  let filled = 0;
  const fill = (text: string) => async (partial: string) => {
    const files = await fillWith(partial, text);
    filled += 1;
    if (filled === 2) bothFilled.resolve();
    await bothFilled.promise;
    return files;
  };
  const results = await Promise.all(['a', 'b'].map((text) => cachedFolder(folder, systemClock, fill(text))));
  assert.deepEqual(results, [folder, folder]);
  assert.match(await readFile(join(folder, 'content'), 'utf8'), /^[ab]$/);
  assert.deepEqual(await readdir(root), ['kafka']);
});

test('what a killed download left is removed after a day, and a younger one is left alone', async (t) => {
  const root = await cache(t);
  const [old, young, other] = ['kafka.partial-1', 'kafka.partial-2', 'registry.partial-1'].map((name) =>
    join(root, name),
  );
  assert.ok(old && young && other);
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  for (const path of [old, young, other]) await mkdir(path, { recursive: true });
  for (const path of [old, other]) await utimes(path, yesterday, yesterday);
  await cachedFolder(join(root, 'kafka'), systemClock, (partial) => fillWith(partial, 'x'));
  assert.deepEqual([old, young, other].map(existsSync), [false, true, true]);
});
