import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { pythonWith } from './python-environment.ts';

const READ_TIMEOUT_MS = 900_000;
const SCRIPT = join(import.meta.dirname, 'read_avro.py');
const SCHEMAS = join(import.meta.dirname, '../../../schemas');

const run = promisify(execFile);

/** A Python with fastavro, or null where none can be had. */
export async function fastAvroPython(): Promise<string | null> {
  return pythonWith(['fastavro==1.13.1']);
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
