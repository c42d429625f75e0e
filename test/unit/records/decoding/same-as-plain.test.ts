import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ConnectorError } from '../../../../src/errors.ts';
import { seededRandom } from '../../../simulation/random.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';
import { decoderPairs, ISINS, type Pair } from '../../../support/decoding/decoders-side-by-side.ts';
import { OddJson } from '../../../support/decoding/odd-json.ts';

/**
 * The transcoder gives what the plain way gives, byte by byte and count by count, for responses that follow the schema,
 * responses that do not, and damaged copies of both. `FUZZ_SECONDS=600 FUZZ_SEED=7 node --test <this file>` looks for longer.
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 4);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const LEAST_BODIES = 120;
const COPIES = 4;
const LONG_BODY = 50_000;

const random = seededRandom(SEED);
const odd = new OddJson(random);
const PASTED = [...'"{}[],:\\7-', 'null', '1e5', '\\ud800', '\u0000', '"id":null,', '"__proto__":1,'];

function bodyFor({ listKey, row, prices }: Pair): Buffer {
  odd.oddness = odd.pick(prices ? [0, 0.01, 0.05] : [0, 0.01, 0.05, 0.2]);
  const count = odd.below(4);
  const rows = prices
    ? ISINS.slice(0, count).map((isin) => odd.bulkItem(row, isin, prices))
    : Array.from({ length: count }, () => odd.record(row));
  if (!prices && random() < 0.05) rows.push(`{"id":1,"u":${'['.repeat(70)}${']'.repeat(70)}}`);
  if (!prices && random() < 0.003) {
    rows.push(`{"id":1,"preTradeCheckId":"a","instrument":{"id":2},"u":"${'é'.repeat(270_000)}"}`);
  }
  const space = () => odd.space();
  const list = `"${listKey}"${space()}:${space()}[${space()}${rows.join(`${space()},${space()}`)}${space()}]`;
  const beside = random() < 0.1 ? `,"x":${odd.any(3)}` : '';
  const again = random() < 0.05 ? `,"links":{"next":"a"},"${listKey}":[${rows.slice(1).join()}]` : '';
  return Buffer.from(
    `${space()}{"nextId":"1-0"${space()},${list}${space()},"links":{"next":null}${beside}${again}}${space()}`,
  );
}

function damaged(body: Buffer): Buffer {
  let bytes = body;
  for (let times = 1 + odd.below(2); times > 0; times--) {
    const at = odd.below(bytes.length);
    const paste = random() < 0.5 ? Buffer.from(odd.pick(PASTED)) : Buffer.from([odd.below(256)]);
    bytes = Buffer.concat([bytes.subarray(0, at), paste, bytes.subarray(at + odd.below(odd.pick([2, 12])))]);
  }
  return random() < 0.1 ? bytes.subarray(0, odd.below(bytes.length)) : bytes;
}

async function outcomeOf(decoded: ReturnType<Pair['plain']['decode']>) {
  try {
    return await decoded;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return { code: error.code };
  }
}

test('the transcoder gives what the plain way gives', async () => {
  const pairs = decoderPairs();
  const seen = new Map<string, number>();
  const count = (what: string, times = 1) => seen.set(what, (seen.get(what) ?? 0) + times);
  const untilMs = performance.now() + SECONDS * 1_000;
  for (let bodies = 0; bodies < LEAST_BODIES || performance.now() < untilMs; bodies++) {
    const pair = pairs[bodies % pairs.length] as Pair;
    const whole = bodyFor(pair);
    if (whole.length > LONG_BODY && pair.sizes.piece < 300) continue;
    for (let copy = 0; copy < COPIES; copy++) {
      const body = copy === 0 ? whole : damaged(whole);
      const chunkBytes = body.length > LONG_BODY ? 5_000 : odd.pick([1, 3, 50, 1_000, 100_000]);
      const expected = await outcomeOf(pair.plain.decode(chunked(body, 1_000_000)));
      const given = await outcomeOf(pair.transcoder.decode(chunked(body, chunkBytes)));
      if ('code' in expected) count(expected.code);
      else {
        if (expected.duplicateKeys > 0) count('duplicate keys');
        for (const { kind, driftFields = 0, roundedNumbers = 0 } of expected.rows as readonly Counted[]) {
          count(kind);
          if (driftFields > 0) count('drift');
          if (roundedNumbers > 0) count('rounded');
        }
      }
      if (isDeepStrictEqual(given, expected)) continue;
      assert.deepEqual(given, expected, `seed ${SEED}, body ${bodies}, copy ${copy}: ${body.toString()}`);
    }
  }
  for (const what of SEEN) assert.ok(seen.has(what), `nothing was seen of: ${what}`);
});

interface Counted {
  readonly kind: string;
  readonly driftFields?: number;
  readonly roundedNumbers?: number;
}

const KINDS = ['record', 'event', 'failure', 'prices', 'problem', 'unusable'];
const SEEN = [...KINDS, 'BODY_MALFORMED', 'BULK_MISMATCH', 'drift', 'rounded', 'duplicate keys'];

test('a key that comes again counts once, whatever the value holds that it replaces', async () => {
  const row = '{"id":1,"u":{"a":{"b":1,"c":{"d":2}},"a":3}}';
  for (const { listKey, plain, transcoder } of decoderPairs().filter((pair) => pair.listKey === 'instruments')) {
    const body = Buffer.from(`{"nextId":"1-0","${listKey}":[${row}],"links":{"next":null}}`);
    for (const decoder of [plain, transcoder]) {
      assert.equal((await decoder.decode(chunked(body, 1_000))).duplicateKeys, 1);
    }
  }
});
