import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../runner/temporary-folder.ts';

export const MAIN = new URL('../../../src/bin/spconnect.js', import.meta.url).pathname;

/** A settings file with this text in a folder of its own, which goes when the test ends. */
export async function settingsFile(t: TestContext, text: string): Promise<string> {
  const folder = temporaryFolder(t);
  const file = join(folder, 'connector.yaml');
  await writeFile(file, text);
  return file;
}
