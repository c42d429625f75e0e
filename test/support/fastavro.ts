import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadableRecord } from '../../src/avro/record-reader.ts';
import { cachedFolder } from '../../src/demo/cached-folder.ts';
import { systemClock } from '../../src/support/clock.ts';

const VERSION = '1.13.1';
const INSTALL_TIMEOUT_MS = 120_000;
const READ_TIMEOUT_MS = 60_000;
const SCRIPT = join(import.meta.dirname, 'read_avro.py');
const SCHEMAS = join(import.meta.dirname, '../../schemas');

const run = promisify(execFile);

/**
 * A Python with fastavro, installed once into a folder of its own in the user's cache; null when there is no python3,
 * or nothing to install from: then the test is skipped, visibly.
 */
export async function fastAvroPython(): Promise<string | null> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'structured-products-connect', `fastavro-${VERSION}`);
  try {
    await cachedFolder(folder, systemClock, async (partial) => {
      const environment = join(partial, 'venv');
      const options = { timeout: INSTALL_TIMEOUT_MS };
      await run('python3', ['-m', 'venv', environment], options);
      const python = join(environment, 'bin', 'python');
      await run(python, ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', `fastavro==${VERSION}`], options);
      return environment;
    });
    return join(folder, 'bin', 'python');
  } catch {
    return null;
  }
}

/**
 * What fastavro reads in values in Confluent's wire format, in the form of our own RecordReader.
 * @param schema the name of a schema in schemas/: Instrument
 */
export async function readWithFastAvro(
  python: string,
  schema: string,
  values: readonly Buffer[],
): Promise<readonly ReadableRecord[]> {
  const options = { timeout: READ_TIMEOUT_MS, maxBuffer: 1 << 30, env: { ...process.env, PYTHONIOENCODING: 'utf-8' } };
  const running = run(python, [SCRIPT, join(SCHEMAS, `${schema}.avsc`)], options);
  // A Python that ends early says why on its own; the pipe that breaks then says nothing more.
  running.child.stdin?.on('error', () => {});
  running.child.stdin?.end(values.map((value) => `${value.toString('base64')}\n`).join(''));
  const { stdout } = await running;
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ReadableRecord);
}
