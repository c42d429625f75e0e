import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ConnectorError } from '../../../../src/errors.ts';
import { seededRandom } from '../../../simulation/random.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';
import { type BulkPair, bulkPairs, oddBulkBody } from '../../../support/decoding/bulk-side-by-side.ts';
import { ALL_SIZES, decoderPairs, type Pair } from '../../../support/decoding/decoders-side-by-side.ts';
import { OddJson } from '../../../support/decoding/odd-json.ts';

/**
 * The transcoder gives what the plain way gives, byte by byte and count by count, for pages that follow the schema, pages
 * that do not, and damaged copies of both. `FUZZ_SECONDS=600 FUZZ_SEED=7 node --test <this file>` looks for longer.
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 6);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const LEAST_PAGES = 60;
const COPIES = 4;
const LONG_BODY = 50_000;

const random = seededRandom(SEED);
const odd = new OddJson(random);
const PASTED = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\',
  'null',
  '7',
  '1e5',
  '-',
  '\\ud800',
  '\u0000',
  '"id":null,',
  '"__proto__":1,',
];

function pageFor({ listKey, row }: Pair): Buffer {
  odd.oddness = odd.pick([0, 0.01, 0.05, 0.2]);
  const rows = Array.from({ length: odd.below(4) }, () => odd.record(row));
  if (random() < 0.05) rows.push(`{"id":1,"u":${'['.repeat(70)}${']'.repeat(70)}}`);
  if (random() < 0.003) rows.push(`{"id":1,"preTradeCheckId":"a","instrument":{"id":2},"u":"${'é'.repeat(270_000)}"}`);
  const space = () => odd.space();
  const list = `"${listKey}"${space()}:${space()}[${space()}${rows.join(`${space()},${space()}`)}${space()}]`;
  const beside = random() < 0.1 ? `,"x":${odd.any(3)}` : '';
  const again = random() < 0.05 ? `,"links":{"next":"a"},"${listKey}":[${rows.slice(1).join()}]` : '';
  return Buffer.from(
    `${space()}{"nextId":"1-0"${space()},${list}${space()},"links":{"next":null}${beside}${again}}${space()}`,
  );
}

function damaged(page: Buffer): Buffer {
  let bytes = page;
  for (let times = 1 + odd.below(2); times > 0; times--) {
    const at = odd.below(bytes.length);
    const paste = random() < 0.5 ? Buffer.from(odd.pick(PASTED)) : Buffer.from([odd.below(256)]);
    bytes = Buffer.concat([bytes.subarray(0, at), paste, bytes.subarray(at + odd.below(odd.pick([2, 12])))]);
  }
  return random() < 0.1 ? bytes.subarray(0, odd.below(bytes.length)) : bytes;
}

async function outcomeOf(decoded: Promise<object>): Promise<object> {
  try {
    return await decoded;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return { code: error.code };
  }
}

interface Seen {
  refused: number;
  records: number;
  failures: number;
  drift: number;
  rounded: number;
  duplicates: number;
}

function count(outcome: object, seen: Seen): void {
  if (!('rows' in outcome)) {
    seen.refused += 1;
    return;
  }
  const { rows, duplicateKeys } = outcome as {
    rows: { kind: string; driftFields?: number; roundedNumbers?: number }[];
    duplicateKeys: number;
  };
  seen.duplicates += duplicateKeys;
  for (const { kind, driftFields = 0, roundedNumbers = 0 } of rows) {
    seen[kind === 'failure' ? 'failures' : 'records'] += 1;
    seen.drift += driftFields;
    seen.rounded += roundedNumbers;
  }
}

test('the transcoder gives of bulk responses what the plain way gives', {
  timeout: (SECONDS + 1_800) * 1_000,
}, async () => {
  const pairs = ALL_SIZES.flatMap(bulkPairs);
  const seen = { refused: 0, prices: 0, problem: 0, unusable: 0 };
  const untilMs = performance.now() + SECONDS * 1_000;
  for (let answers = 0; answers < LEAST_PAGES || performance.now() < untilMs; answers++) {
    const pair = pairs[answers % pairs.length] as BulkPair;
    odd.oddness = odd.pick([0, 0.01, 0.05]);
    const isins = Array.from({ length: odd.below(4) }, (_, index) => `CH${index}`);
    const answer = Buffer.from(oddBulkBody(pair, isins, odd));
    for (let copy = 0; copy < COPIES; copy++) {
      const body = copy === 0 ? answer : damaged(answer);
      const expected = await outcomeOf(pair.plain(chunked(body, 1_000_000), isins));
      const given = await outcomeOf(pair.transcoder(chunked(body, odd.pick([1, 3, 50, 1_000, 100_000])), isins));
      if ('code' in expected) seen.refused += 1;
      else for (const { kind } of (expected as { answers: { kind: keyof typeof seen }[] }).answers) seen[kind] += 1;
      if (isDeepStrictEqual(given, expected)) continue;
      assert.deepEqual(given, expected, `seed ${SEED}, answer ${answers}, copy ${copy}: ${body.toString()}`);
    }
  }
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, `nothing was seen of: ${what}`);
});

test('the transcoder gives what the plain way gives', { timeout: (SECONDS + 1_800) * 1_000 }, async () => {
  const pairs = decoderPairs();
  const seen: Seen = { refused: 0, records: 0, failures: 0, drift: 0, rounded: 0, duplicates: 0 };
  const untilMs = performance.now() + SECONDS * 1_000;
  for (let pages = 0; pages < LEAST_PAGES || performance.now() < untilMs; pages++) {
    const pair = pairs[pages % pairs.length] as Pair;
    const page = pageFor(pair);
    if (page.length > LONG_BODY && pair.sizes.piece < 300) continue;
    for (let copy = 0; copy < COPIES; copy++) {
      const body = copy === 0 ? page : damaged(page);
      const chunkBytes = body.length > LONG_BODY ? 5_000 : odd.pick([1, 3, 50, 1_000, 100_000]);
      const expected = await outcomeOf(pair.plain.decode(chunked(body, 1_000_000)));
      const given = await outcomeOf(pair.transcoder.decode(chunked(body, chunkBytes)));
      count(expected, seen);
      if (isDeepStrictEqual(given, expected)) continue;
      assert.deepEqual(given, expected, `seed ${SEED}, page ${pages}, copy ${copy}: ${body.toString()}`);
    }
  }
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, `nothing was seen of: ${what}`);
});

test('a key that comes again counts once, whatever the value holds that it replaces', async () => {
  const row = '{"id":1,"u":{"a":{"b":1,"c":{"d":2}},"a":3}}';
  for (const { listKey, plain, transcoder } of decoderPairs().filter((pair) => pair.listKey === 'instruments')) {
    const body = Buffer.from(`{"nextId":"1-0","${listKey}":[${row}],"links":{"next":null}}`);
    for (const decoder of [plain, transcoder]) {
      const decoded = await decoder.decode(chunked(body, 1_000));
      assert.equal((decoded as { readonly duplicateKeys: number }).duplicateKeys, 1);
    }
  }
});
