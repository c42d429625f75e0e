import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConnectorError } from '../../../src/errors.ts';
import type { ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { parseSchema } from '../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { recordSamples } from '../../support/decoding/avro-arbitraries.ts';
import {
  answersOf,
  bulkBody,
  failedItem,
  pricedItem,
  priceReader,
  recordsOf,
} from '../../support/decoding/bulk-answers.ts';

const snapshots = recordSamples(parseSchema(readSchemaText('PriceSnapshot')));
const days = recordSamples(parseSchema(readSchemaText('DailyPrice')));
const windows = recordSamples(parseSchema(readSchemaText('IntradayPrice')));
const MOMENT = '1970-01-01T00:16:40Z';

const isinOf = (index: number) => `CH${index}`;
const given = (index: number) => ({
  instrumentId: String(index + 1),
  isin: isinOf(index),
  requestedAt: MOMENT,
  receivedAt: MOMENT,
});
/** The members of an object, without its braces. */
const inner = (json: string) => json.slice(1, -1);

test('what avsc reads back of a snapshot is exactly what was sent, in every legal spelling', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(snapshots, { maxLength: 4 }), fc.integer({ min: 1, max: 3_000 }), async (sent, size) => {
      const items = sent.map(({ json }, index) => pricedItem(isinOf(index), inner(json)));
      const answers = await answersOf(
        bulkBody(items, false),
        items.map((_, index) => isinOf(index)),
        { chunkBytes: size },
      );
      for (const [index, { expected }] of sent.entries()) {
        assert.deepEqual(recordsOf(answers, index), [{ ...expected, ...given(index) }]);
      }
      assert.deepEqual([answers.drift, answers.roundedNumbers, answers.errorsFlagDiffers], [0, 0, false]);
    }),
    { numRuns: 150 },
  );
});

for (const { kind, type, samples, parameters, openedBy } of [
  {
    kind: 'daily',
    type: 'ProductDailyPriceResponse',
    samples: days,
    parameters: { fields: 'Close' },
    openedBy: 'date',
  },
  {
    kind: 'intraday',
    type: 'ProductIntradayPriceResponse',
    samples: windows,
    parameters: { fields: 'BidAsk', interval: 'Hour_1' },
    openedBy: 'windowOpenTimestamp',
  },
] as const) {
  test(`what avsc reads back of ${kind} prices is exactly what was sent`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(samples, { maxLength: 4 }), async (sent) => {
        const body = bulkBody([pricedItem('CH0', `"prices":[${sent.map(({ json }) => json).join(',')}]`, type)]);
        const answers = await answersOf(body, ['CH0'], { kind });
        const expected = new Map<unknown, ReadableRecord>();
        for (const { expected: window } of sent) {
          expected.delete(window[openedBy]);
          expected.set(window[openedBy], { ...window, ...given(0), ...parameters });
        }
        assert.deepEqual(recordsOf(answers), [...expected.values()]);
      }),
      { numRuns: 100 },
    );
  });
}

type Damage = (items: string[], at: number) => string[];
/** What may happen to the items of an answer on their way. */
const DAMAGES: readonly Damage[] = [
  (items, at) => items.toSpliced(at % items.length, 1),
  (items, at) => items.toSpliced(at % items.length, 0, items[(at + 1) % items.length] ?? ''),
  (items, at) =>
    items.map((item, index) => (index === at % items.length ? (items[(at + 1) % items.length] ?? '') : item)),
  (items, at) => items.map((item, index) => items[(index + (at % 2)) % items.length] ?? item),
  (items, at) => items.with(at % items.length, failedItem(isinOf(at % items.length))),
  (items, at) => items.with(at % items.length, failedItem(isinOf((at + 1) % items.length), '{"status":404}')),
  (items, at) =>
    items.with(at % items.length, pricedItem(isinOf(at % items.length), '"prices":[]', 'ProductDailyPriceResponse')),
  (items, at) => items.with(at % items.length, pricedItem(isinOf(at % items.length), '"lastOpen":"5"')),
  (items) => items,
];
const CUT = fc.record({
  at: fc.nat(),
  cut: fc.nat(8),
  paste: fc.constantFrom(
    '',
    '"',
    '{',
    '}',
    ']',
    ',',
    'null',
    '7',
    '\\',
    '"isin":"CH1",',
    '"response":null,',
    '1e999',
    '\u0000',
  ),
});

interface Native {
  readonly items: readonly {
    readonly responseIdentifier: { readonly isin: string };
    readonly response: Record<string, unknown>;
  }[];
}

test('whatever happens to an answer, no price is put on another question, and every refusal is a known one', async () => {
  const seen = { refused: 0, priced: 0, problems: 0, unusable: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.tuple(fc.constantFrom(...DAMAGES), fc.nat(9)), { maxLength: 2 }),
      fc.array(CUT, { maxLength: 2 }),
      async (count, damages, cuts) => {
        const isins = Array.from({ length: count }, (_, index) => isinOf(index));
        let items = isins.map((isin, index) => pricedItem(isin, `"lastOpen":${100 + index}.5`));
        for (const [damage, at] of damages) if (items.length > 0) items = damage(items, at);
        let body = bulkBody(items);
        for (const { at, cut, paste } of cuts) {
          const start = at % body.length;
          body = body.slice(0, start) + paste + body.slice(start + cut);
        }
        const answered = await answersOf(body, isins).catch((error: unknown) => error);
        if (answered instanceof ConnectorError) {
          assert.ok(['BULK_MISMATCH', 'BODY_MALFORMED'].includes(answered.code), answered.code);
          seen.refused += 1;
          return;
        }
        if (answered instanceof Error) throw answered;
        const { answers } = answered as Awaited<ReturnType<typeof answersOf>>;
        const native = JSON.parse(body) as Native;
        assert.deepEqual([answers.length, native.items.length], [count, count]);
        for (const [index, answer] of answers.entries()) {
          const item = native.items[index] ?? assert.fail();
          assert.equal(item.responseIdentifier.isin, isins[index]);
          if (answer.kind === 'problem') seen.problems += 1;
          if (answer.kind === 'unusable') seen.unusable += 1;
          if (answer.kind !== 'prices') continue;
          seen.priced += 1;
          assert.equal(item.response.$type, 'ProductPriceOverviewResponse');
          const record = priceReader.read(answer.records[0]?.value ?? Buffer.alloc(0));
          assert.deepEqual([record.isin, record.instrumentId], [isins[index], String(index + 1)]);
          const sent = item.response.lastOpen ?? item.response.LastOpen ?? null;
          assert.equal(record.lastOpen === null ? null : Number(record.lastOpen), sent);
        }
      },
    ),
    { numRuns: 2_000 },
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, `${what}: ${times}`);
});
