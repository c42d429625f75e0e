import { readSchemaText } from '../../src/avro/schema-files.ts';
import { createPageDecoder } from '../../src/decoding/page-decoder.ts';
import { systemClock } from '../../src/support/clock.ts';
import { chunked } from './avro-decoding.ts';

const CHUNK_BYTES = 65_536;

/** What decoding a page costs beside `JSON.parse` of it, in CPU time of all threads of this process. */
export interface DecodingCost {
  readonly parseMs: number;
  readonly decodeMs: number;
  readonly ratio: number;
}

/**
 * Medians of runs that alternate. Both leave garbage, whose collection counts: it is collected after each run, where the
 * process was started with --expose-gc.
 */
export async function decodingCost(page: Buffer, rounds: number): Promise<DecodingCost> {
  const decoder = createPageDecoder({
    schema: readSchemaText('Instrument'),
    schemaId: 7,
    listKey: 'instruments',
    onMismatch: 'keepInExtras',
    clock: systemClock,
  });
  const parse = async () => {
    JSON.parse(page.toString());
  };
  const decode = async () => {
    await decoder.decode(chunked(page, CHUNK_BYTES));
  };
  const [parses, decodes]: [number[], number[]] = [[], []];
  await cpuMs(parse);
  await cpuMs(decode);
  for (let round = 0; round < rounds; round++) {
    parses.push(await cpuMs(parse));
    decodes.push(await cpuMs(decode));
  }
  const [parseMs, decodeMs] = [median(parses), median(decodes)];
  return { parseMs, decodeMs, ratio: decodeMs / parseMs };
}

async function cpuMs(run: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  await run();
  globalThis.gc?.();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
