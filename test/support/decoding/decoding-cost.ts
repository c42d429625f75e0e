import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readBulkResponse } from '../../../src/prices/bulk-response.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { createPriceDecoder } from '../../../src/records/decoding/price-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { questionsFor, termsAt } from './bulk-answers.ts';

const CHUNK_BYTES = 65_536;
const WARM_UPS = 8;
// What is alive in this process costs the collector some 20 ms each time, which is none of the body's cost.
const LEAST_BYTES_BETWEEN_COLLECTIONS = 10_000_000;

/** What decoding a page costs beside `JSON.parse` of it, in CPU time of all threads of this process. */
export interface DecodingCost {
  readonly parseMs: number;
  readonly decodeMs: number;
  readonly ratio: number;
  /** The longest turn of the event loop while a body is decoded, in the run that other work disturbed least. */
  readonly turnMs: number;
}

type Decode = (body: AsyncIterable<Uint8Array>) => Promise<object>;

export function pageDecoding(): Decode {
  const decoder = createPageDecoder({
    schema: readSchemaText('Instrument'),
    schemaId: 7,
    listKey: 'instruments',
    onMismatch: 'keepInExtras',
    clock: systemClock,
  });
  return (body) => decoder.decode(body);
}

/** The decoder of a bulk response about these isins, with all that makes answers of it. */
export function bulkDecoding(isins: readonly string[]): Decode {
  const asked = { kind: 'overview' } as const;
  const options = { schemaId: 7, onMismatch: 'keepInExtras', assumedZone: null, clock: systemClock } as const;
  const decoder = createPriceDecoder({ asked, ...options });
  const questions = questionsFor(isins, termsAt);
  const [requestedAtMs, receivedAtMs] = [1_800_000_000_000, 1_800_000_000_100];
  return (body) =>
    readBulkResponse(body, { questions, range: () => null, kind: 'overview', decoder, requestedAtMs, receivedAtMs });
}

/** Medians of runs that alternate, of many bodies each. Both leave garbage, whose collection at the end of a run counts. */
export async function decodingCost(body: Buffer, decodeBody: Decode, rounds: number): Promise<DecodingCost> {
  const parse = async () => {
    JSON.parse(body.toString());
  };
  const decode = async () => {
    await decodeBody(inChunks(body));
  };
  const times = Math.ceil(LEAST_BYTES_BETWEEN_COLLECTIONS / body.length);
  const [parses, decodes]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UPS; round++) {
    await cpuMs(parse, 1);
    await cpuMs(decode, 1);
  }
  for (let round = 0; round < rounds; round++) {
    parses.push(await cpuMs(parse, times));
    decodes.push(await cpuMs(decode, times));
  }
  const [parseMs, decodeMs] = [median(parses), median(decodes)];
  const turns: number[] = [];
  for (let round = 0; round < rounds; round++) turns.push(await longestTurnMs(decode));
  return { parseMs, decodeMs, ratio: decodeMs / parseMs, turnMs: Math.min(...turns) };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function* inChunks(page: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < page.length; at += CHUNK_BYTES) yield page.subarray(at, at + CHUNK_BYTES);
}

/** The longest turn of the event loop meanwhile. */
export async function longestTurnMs(run: () => Promise<void>): Promise<number> {
  let longestMs = 0;
  // By the clock: some kernels count the CPU of a thread in steps of 4 ms.
  let lastMs = performance.now();
  const turnEnds = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const turn = () => {
    turnEnds();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await run();
  turnEnds();
  clearImmediate(next);
  return longestMs;
}

async function cpuMs(run: () => Promise<void>, times: number): Promise<number> {
  collectGarbage();
  const before = process.cpuUsage();
  for (let k = 0; k < times; k++) await run();
  collectGarbage();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
