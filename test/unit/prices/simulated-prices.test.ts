import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import type { BulkSpoil } from '../../../src/dev/simulator/faults/fault.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { createProviderPrices } from '../../../src/prices/provider-prices.ts';
import { createMarketData } from '../../../src/provider/market-data.ts';
import type { ReadableRecord, ReadableValue } from '../../../src/records/avro/record-reader.ts';
import { createMarketDataHttp } from '../../../src/run/provider-client.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { ASKED, priceReader, questionsFor, schemaIdOf, termsAt } from '../../support/decoding/bulk-answers.ts';

const SIGNAL = new AbortController().signal;
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const simulator = await createSimulator({ instruments: 60, port: 0, keptPrices: 20, ...options });
  t.after(() => simulator.close());
  const { marketDataUrl, tokenUrl, clientId, clientSecret } = simulator;
  const { marketData } = await loadSettings({
    text: `
referenceData: { url: https://none.example, auth: { type: oauth2, tokenUrl: "${tokenUrl}", clientId: "${clientId}", clientSecret: "${clientSecret}" } }
marketData: { url: "${marketDataUrl}", requestsPerSecond: 1000 }
kafka: { brokers: "none:1" }
schemaRegistry: { url: "http://none.example" }`,
    env: {},
  });
  assert.ok(marketData !== null);
  const http = await createMarketDataHttp(marketData, { clock: systemClock, random: Math.random, log: QUIET });
  t.after(() => http.close());
  const prices = createProviderPrices({
    marketData: createMarketData({ http }),
    asked: ASKED,
    schemaId: async (kind) => schemaIdOf(kind),
    maxValueBytes: () => 1_000_000,
    onMismatch: 'deadLetter',
    assumedZone: null,
    clock: systemClock,
  });
  const isins = [...simulator.ledger.instruments()].map(({ text }) => String(JSON.parse(text).identifiers[0].value));
  return { simulator, prices, isins, questions: questionsFor(isins, termsAt) };
}

/** Compares what was served, as text, with what was decoded: number by number, and instant by instant. */
function assertAsServed(served: string, record: ReadableRecord, pointer: string): number {
  let compared = 0;
  for (const [, name = '', sent = ''] of served.matchAll(/"(\w+)":(-?\d[\d.]*)/g)) {
    const inQuote = name in record ? '' : '/lastPrice';
    const field = inQuote === '' ? record[name] : (record.lastPrice as ReadableRecord)[name];
    const digits = sent.includes('.') ? sent.replace(/\.?0+$/, '') : sent;
    const isLong = (digits.split('.')[1]?.length ?? 0) > 18;
    if (isLong) assert.equal(extrasOf(record)[`${pointer}${inQuote}/${name}`], sent, name);
    else assert.equal(field, digits, name);
    compared += 1;
  }
  for (const [, name = '', sent = ''] of served.matchAll(/"(\w+[tT]imestamp)":"([^"]+)"/g)) {
    const field = name in record ? record[name] : (record.lastPrice as ReadableRecord)[name];
    const [ms, below] = [new Date(sent).getTime(), Number(`0.${/\.\d{3}(\d+)/.exec(sent)?.[1] ?? '0'}`)];
    const [decodedMs, decodedBelow] = [
      new Date(String(field)).getTime(),
      Number(`0.${/\.\d{3}(\d+)Z/.exec(String(field))?.[1] ?? '0'}`),
    ];
    assert.ok(Math.abs(decodedMs - ms + (decodedBelow - below)) < 0.000_501, `${name}: ${sent} became ${field}`);
    compared += 1;
  }
  return compared;
}

function extrasOf(record: ReadableRecord): Record<string, ReadableValue> {
  return (record.extras ?? {}) as Record<string, ReadableValue>;
}

test('every price equals what the provider served for that isin, digit by digit', async (t) => {
  const { simulator, prices, isins, questions } = await scene(t);
  const { answers, drift, errorsFlagDiffers } = await prices.ask('overview', questions, SIGNAL);
  assert.deepEqual([answers.length, drift, errorsFlagDiffers], [isins.length, 0, false]);
  let compared = 0;
  for (const [index, answer] of answers.entries()) {
    assert.ok(answer.kind === 'prices', `${answer.kind} of ${isins[index]}`);
    const record = priceReader.read(answer.records[0]?.value ?? Buffer.alloc(0));
    assert.deepEqual([record.instrumentId, record.isin], [String(index + 1), isins[index]]);
    const { currency, priceType } = record;
    assert.deepEqual({ currency, priceType }, termsAt(index));
    const served = simulator.ledger.pricesOf(isins[index] ?? '')?.last.at(-1)?.text ?? '';
    compared += assertAsServed(served, record, '');
  }
  assert.ok(compared > isins.length * 10, `${compared} values compared`);
});

for (const kind of ['daily', 'intraday'] as const) {
  test(`every window of ${kind} prices equals what was served`, async (t) => {
    const { simulator, prices, isins, questions } = await scene(t);
    const { answers } = await prices.ask(kind, questions, SIGNAL);
    for (const [index, answer] of answers.entries()) {
      assert.ok(answer.kind === 'prices' && answer.records.length > 0);
      const text = simulator.ledger.pricesOf(isins[index] ?? '')?.last.at(-1)?.text ?? '';
      const windows = [...text.slice(text.indexOf('[')).matchAll(/\{[^}]*\}/g)].map(([window]) => window);
      assert.equal(answer.records.length, windows.length);
      for (const [at, { value }] of answer.records.entries())
        assertAsServed(windows[at] ?? '', priceReader.read(value), '');
    }
  });
}

test('failing items are problems, all others are priced', async (t) => {
  const { prices, questions } = await scene(t, { failingPricesShare: 0.2 });
  const { answers } = await prices.ask('overview', questions, SIGNAL);
  const failed = answers.flatMap((answer) => (answer.kind === 'problem' ? [answer.status] : []));
  assert.ok(failed.length > 3 && failed.every((status) => status === 500));
  assert.equal(answers.filter(({ kind }) => kind === 'prices').length, questions.length - failed.length);
});

for (const how of ['swap', 'drop', 'add', 'mismatch', 'type'] satisfies BulkSpoil[]) {
  test(`nothing of an answer is used after ${how}, and all of the next one`, async (t) => {
    const { simulator, prices, isins, questions } = await scene(t);
    simulator.injectFaults([{ match: 'bulk', fault: { kind: 'bulk', how, isins: isins.slice(30, 31) } }]);
    await assert.rejects(prices.ask('overview', questions, SIGNAL), { code: 'BULK_MISMATCH', action: 'askForLess' });
    const { answers } = await prices.ask('overview', questions, SIGNAL);
    assert.ok(answers.every(({ kind }) => kind === 'prices'));
  });
}

test('null in both places is a problem of one item, a wrong flag is reported, and neither harms the others', async (t) => {
  const { simulator, prices, isins, questions } = await scene(t);
  simulator.injectFaults([{ match: 'bulk', fault: { kind: 'bulk', how: 'null', isins: isins.slice(7, 8) } }]);
  const { answers, errorsFlagDiffers } = await prices.ask('overview', questions, SIGNAL);
  const problems = answers.flatMap((answer, index) => (answer.kind === 'problem' ? [[index, answer.status]] : []));
  assert.deepEqual([problems, errorsFlagDiffers], [[[7, null]], false]);
  simulator.injectFaults([{ match: 'bulk', fault: { kind: 'bulk', how: 'flag' } }]);
  const flagged = await prices.ask('overview', questions, SIGNAL);
  assert.ok(flagged.errorsFlagDiffers && flagged.answers.every(({ kind }) => kind === 'prices'));
});

test('a refusal of the whole call is reported with its status, and what the provider says', async (t) => {
  for (const [options, code, status] of [
    [{ maxBulkItems: 20 }, 'PROVIDER_REFUSED', 400],
    [{ maxBulkItems: 20, bulkRefusalStatus: 413 }, 'PROVIDER_ASKS_FOR_LESS', 413],
  ] as const) {
    const { prices, questions } = await scene(t, options);
    await assert.rejects(prices.ask('overview', questions, SIGNAL), (error) => {
      assert.ok(error instanceof Error && 'fields' in error && 'code' in error);
      const validation = ['items: At most 20 items are allowed.'];
      const { dateMs: _, ...fields } = error.fields as Readonly<Record<string, unknown>>;
      assert.partialDeepStrictEqual(
        [error.code, fields],
        [code, { status, endpoint: '/v1/products/bulk', validation }],
      );
      assert.match(error.message, /; type: tools\.ietf\.org\/html\/rfc9110#section-\S+; traceId: 00-5eed/);
      return true;
    });
    assert.equal((await prices.ask('overview', questions.slice(0, 20), SIGNAL)).answers.length, 20);
  }
});
