import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readSchemaText } from '../../../src/avro/schema-files.ts';
import { createPageDecoder } from '../../../src/decoding/page-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';

const CHUNK_BYTES = 65_536;
const WARM_UPS = 8;

/** What decoding a page costs beside `JSON.parse` of it, in CPU time of all threads of this process. */
export interface DecodingCost {
  readonly parseMs: number;
  readonly decodeMs: number;
  readonly ratio: number;
  /** The longest turn of the event loop while a page is decoded, in CPU time of this thread; the median of the runs. */
  readonly turnMs: number;
}

/** Medians of runs that alternate. Both leave garbage, whose collection counts: it is collected after each run. */
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
    await decoder.decode(inChunks(page));
  };
  const [parses, decodes]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UPS; round++) {
    await cpuMs(parse);
    await cpuMs(decode);
  }
  for (let round = 0; round < rounds; round++) {
    parses.push(await cpuMs(parse));
    decodes.push(await cpuMs(decode));
  }
  const [parseMs, decodeMs] = [median(parses), median(decodes)];
  const turns: number[] = [];
  for (let round = 0; round < rounds; round++) turns.push(await longestTurnMs(decode));
  return { parseMs, decodeMs, ratio: decodeMs / parseMs, turnMs: median(turns) };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function* inChunks(page: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < page.length; at += CHUNK_BYTES) yield page.subarray(at, at + CHUNK_BYTES);
}

async function longestTurnMs(run: () => Promise<void>): Promise<number> {
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longestMs = 0;
  let lastMs = usedMs();
  const turn = () => {
    const nowMs = usedMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await run();
  clearImmediate(next);
  return longestMs;
}

async function cpuMs(run: () => Promise<void>): Promise<number> {
  collectGarbage();
  const before = process.cpuUsage();
  await run();
  collectGarbage();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
