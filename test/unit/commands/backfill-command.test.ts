import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isinsOf, productsOption } from '../../../src/commands/backfill-command.ts';
import { temporaryFolder } from '../../support/runner/temporary-folder.ts';

const isins = Array.from({ length: 31 }, (_, at) => `CH${at}`.padEnd(12, '0'));

test('30 failed products are named by the next command, and more by a file that it reads', async (t) => {
  const folder = temporaryFolder(t);
  assert.equal(await productsOption(isins.slice(1), folder), `--isin ${isins.slice(1).join(' ')}`);
  const [, file = ''] = /^--isin-file (\S+)$/.exec(await productsOption(isins, folder)) ?? [];
  assert.equal(file.startsWith(folder), true);
  assert.deepEqual(await isinsOf(file), isins);
});

test('where the folder is read-only, the file is a temporary one', async (t) => {
  const [, file = ''] = /^--isin-file (\S+)$/.exec(await productsOption(isins, '/nowhere')) ?? [];
  t.after(() => rm(file));
  assert.deepEqual([file.startsWith(tmpdir()), await isinsOf(file)], [true, isins]);
});

test('a file without an ISIN is refused, because no list would select all products', async (t) => {
  const file = join(temporaryFolder(t), 'empty.txt');
  await writeFile(file, '\n \n');
  await assert.rejects(isinsOf(file), /empty\.txt has no ISIN; expected an ISIN in each line$/);
});
