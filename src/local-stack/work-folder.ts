import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a program that we start keeps its data and its log. */
export interface WorkFolder {
  readonly path: string;
  /** Whether it is ours to remove. */
  readonly isTemporary: boolean;
  /** Removes it when it is temporary, and leaves a given one alone. */
  remove(): Promise<void>;
}

/** The given folder, made when missing, or else a new temporary one. */
export async function openWorkFolder(name: string, given: string | undefined): Promise<WorkFolder> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true });
    return { path: given, isTemporary: false, remove: async () => undefined };
  }
  const path = await mkdtemp(join(tmpdir(), `structured-products-${name}-`));
  return { path, isTemporary: true, remove: () => rm(path, { recursive: true, force: true }) };
}
