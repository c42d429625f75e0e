import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { skippingClock } from '../../../test/support/runner/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/runner/temporary-folder.ts';
import { systemClock } from '../../support/clock.ts';
import { cachedFolder, kafkaJars } from './java-artifacts.ts';

/** A folder for the cache, and this shell script in place of Maven. */
async function stage(t: TestContext, mavenScript: string) {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/mvn'), `#!/bin/sh\n${mavenScript}\n`);
  await chmod(join(folder, 'bin/mvn'), 0o755);
  const lines: string[] = [];
  const context = {
    env: { PATH: `${folder}/bin:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, 'cache') },
    clock: systemClock,
    onProgress: (line: string) => lines.push(line),
    signal: new AbortController().signal,
  };
  return { folder, context, lines, cache: join(folder, 'cache/structured-products-connect') };
}

/** A script in place of Maven. It writes its arguments into a file in the output folder, which the last argument names. */
const COPY_ARGUMENTS = 'for last; do :; done; printf "%s\\n" "$@" > "$(echo "$last" | cut -d= -f2)/arguments"';

test('an artifact is downloaded once, and kept', async (t) => {
  const { context, lines, cache } = await stage(t, COPY_ARGUMENTS);
  const first = await kafkaJars(context);
  assert.equal(first, join(cache, 'kafka-4.3.1'));
  assert.match(await readFile(join(first, 'arguments'), 'utf8'), /:copy-dependencies\n-DincludeScope=runtime\n/);
  assert.deepEqual(lines, ['Downloading Kafka 4.3.1 (44 MB) with Maven, once.']);
  await rm(join(context.env.PATH.split(':')[0] ?? '', 'mvn'));
  assert.equal(await kafkaJars(context), first);
  assert.equal(lines.length, 1);
});

test('a failed download says why and leaves nothing behind', async (t) => {
  const { context, cache } = await stage(t, 'echo "[INFO] fine"; echo "[ERROR] Could not transfer artifact"; exit 1');
  const clock = skippingClock();
  await assert.rejects(kafkaJars({ ...context, clock }), {
    code: 'STACK_UNAVAILABLE',
    message: 'Maven could not get Kafka 4.3.1 (44 MB): Could not transfer artifact',
  });
  assert.deepEqual(clock.sleepsMs, [3_000, 6_000]);
  assert.deepEqual(await readdir(cache), []);
});

test('a download that fails once is tried again, and reported', async (t) => {
  const failing = 'cd "$(dirname "$0")"; [ -e tried ] || { touch tried; echo "[ERROR] Connection reset"; exit 1; }';
  const { context, lines } = await stage(t, `( ${failing} ) || exit 1; ${COPY_ARGUMENTS}`);
  const folder = await kafkaJars({ ...context, clock: skippingClock() });
  assert.match(await readFile(join(folder, 'arguments'), 'utf8'), /^--batch-mode\n--update-snapshots\n/);
  assert.deepEqual(lines.slice(1), ['Maven could not get Kafka 4.3.1 (44 MB): Connection reset. Trying again.']);
});

test('two processes that fill the same folder at once get the same complete folder', async (t) => {
  const root = join(await mkdtemp(join(tmpdir(), 'cached-folder-test-')), 'cache');
  t.after(() => rm(root, { recursive: true }));
  const folder = join(root, 'kafka');
  const bothFilled = Promise.withResolvers<void>();
  let filled = 0;
  const fill = (text: string) => async (partial: string) => {
    await mkdir(join(partial, 'files'));
    await writeFile(join(partial, 'files/content'), text);
    filled += 1;
    if (filled === 2) bothFilled.resolve();
    await bothFilled.promise;
    return join(partial, 'files');
  };
  const results = await Promise.all(['a', 'b'].map((text) => cachedFolder(folder, fill(text))));
  assert.deepEqual(results, [folder, folder]);
  assert.match(await readFile(join(folder, 'content'), 'utf8'), /^[ab]$/);
  assert.deepEqual(await readdir(root), ['kafka']);
});
