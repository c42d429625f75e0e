import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printable } from '../shell/output.ts';

/** More products are not named in a message, but in a file. */
export const MOST_ISINS = 100;

/** The option that requests these products alone. More than 100 are written to a file, an ISIN in each line. */
export async function productsOption(isins: readonly string[], folder = '.'): Promise<string> {
  if (isins.length <= MOST_ISINS) return `--isin ${isins.map(printable).join(' ')}`;
  const name = `backfill-isins-${randomUUID().slice(0, 8)}.txt`;
  const text = isins.map((isin) => `${isin}\n`).join('');
  const [here, temporary] = [join(folder, name), join(tmpdir(), name)];
  const file = await writeFile(here, text).then(
    () => here,
    () => writeFile(temporary, text).then(() => temporary),
  );
  return `--isin-file ${shellWord(file)}`;
}

/** @throws Error that names the file when it cannot be read. */
export async function isinsOf(file: string): Promise<readonly string[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  return lines.filter((isin) => isin !== '');
}

export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
