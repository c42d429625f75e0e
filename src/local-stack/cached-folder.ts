import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../support/clock.ts';
import type { StackEnvironment } from './stack-context.ts';

/** What an interrupted download left behind is removed after a day; a younger one may still be under way. */
const ABANDONED_AFTER_MS = 86_400_000;

/** Where this project keeps what it has downloaded, outside of the repository. */
export function cacheRoot(env: StackEnvironment): string {
  const base = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
  return join(base, 'structured-products-connect');
}

/**
 * A folder that is there whole or not at all, and is filled once.
 *
 * Two processes may fill it at the same time: each fills a folder of its own and renames it, and the second finds that it
 * came late and takes the first one's. A process that dies half-way leaves only its own folder behind.
 *
 * @param fill writes into the folder that it is given, and returns the subfolder of it to keep.
 */
export async function cachedFolder(
  folder: string,
  clock: Clock,
  fill: (partial: string) => Promise<string>,
): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  await removeAbandoned(folder, clock);
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    const filled = await fill(partial);
    await rename(filled, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function removeAbandoned(folder: string, clock: Clock): Promise<void> {
  const parent = dirname(folder);
  for (const name of await readdir(parent)) {
    if (!name.startsWith(`${basename(folder)}.partial-`)) continue;
    const path = join(parent, name);
    const changed = await stat(path).catch(() => undefined);
    if (changed && clock.wallMs() - changed.mtimeMs > ABANDONED_AFTER_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
