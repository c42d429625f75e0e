import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const DEFAULT_LIMIT_MS = 60_000;
const MAXIMUM_OUTPUT_BYTES = 64 * 1024 * 1024;
const LAST_WORDS = 2_000;

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a program to its end and returns what it wrote to stdout; a failure reports its last words. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { env = process.env, cwd, limitMs = DEFAULT_LIMIT_MS, signal } = options;
  const limits = { timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: MAXIMUM_OUTPUT_BYTES } as const;
  try {
    const { stdout } = await promisify(execFile)(program, args, { ...limits, env, signal, ...(cwd && { cwd }) });
    return stdout.trim();
  } catch (error) {
    const { stdout = '', stderr = '', killed } = error as { stdout?: string; stderr?: string; killed?: boolean };
    const why = killed ? `was ended after ${limitMs / 1000} s` : 'failed';
    const words = `${stdout}\n${stderr}`.trim().slice(-LAST_WORDS) || (error as Error).message;
    throw new Error(`${program} ${args.join(' ').slice(0, 200)} ${why}:\n${words}`, { cause: error });
  }
}

/** The program on the path, as an absolute path without links; undefined when there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  // An ordinary user has no /usr/sbin on the path, where dockerd and tools like it are.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const folder of folders.filter((one) => one !== '')) {
    const found = await realpath(join(folder, name)).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}
