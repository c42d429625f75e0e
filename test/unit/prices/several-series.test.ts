import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { InstrumentTable } from '../../../src/prices/core/instrument-table.ts';
import { enabledKinds, pricedTopics } from '../../../src/prices/enabled-kinds.ts';
import { subjectsOf } from '../../../src/run/planned-topics.ts';

function settingsWith(kinds: string) {
  const text = `
referenceData: { url: "https://provider.example", auth: { type: none } }
marketData: { url: "https://provider.example/market" }
kafka: { brokers: "localhost:9092" }
schemaRegistry: { url: "http://localhost:8081" }
sources: [{ name: instruments, type: instruments }]
prices: { kinds: { overview: { enabled: false }, ${kinds} } }`;
  return loadSettings({ text, env: {} });
}

test('each fields of a list, and each interval with each of them, is a series with a name, a key and a question of its own', async () => {
  const settings = await settingsWith(
    'daily: { enabled: true, fields: [Close, OHLC] }, intraday: { enabled: true, fields: [Close, BidAsk], interval: [Minute_5, Hour_1] }',
  );
  const kinds = enabledKinds(settings.prices);
  assert.deepEqual(
    kinds.map(({ kind, series }) => [kind, series]),
    [
      ['daily/Close', 'Close'],
      ['daily/OHLC', 'OHLC'],
      ['intraday/Minute_5/Close', 'Minute_5/Close'],
      ['intraday/Minute_5/BidAsk', 'Minute_5/BidAsk'],
      ['intraday/Hour_1/Close', 'Hour_1/Close'],
      ['intraday/Hour_1/BidAsk', 'Hour_1/BidAsk'],
    ],
  );
  for (const plan of kinds) {
    const { dateFrom: _, ...query } = { dateFrom: null, ...plan.query({ fromMs: 0, toMs: null }) };
    const { kind: base, ...asked } = plan.inRecords;
    assert.partialDeepStrictEqual(query, { kind: base, ...asked });
  }
  assert.deepEqual(pricedTopics(settings.prices), ['daily-prices', 'intraday-prices']);
  const topics = subjectsOf(settings).map(({ topic }) => topic);
  assert.equal(new Set(topics).size, topics.length, 'a subject is registered once');
});

test('one series keeps the plain name, as text or as a list of one', async () => {
  for (const fields of ['OHLC', '[OHLC]', '[Ohlc]']) {
    const { prices } = await settingsWith(`daily: { enabled: true, fields: ${fields} }`);
    const enabled = enabledKinds(prices).map(({ kind, series }) => [kind, series]);
    assert.deepEqual(enabled, [['daily', 'OHLC']]);
  }
});

test('a series that is named twice, or none, is refused', async () => {
  for (const fields of ['[OHLC, OHLC]', '[]', 'Mid']) {
    const says = /prices\.kinds\.daily\.fields.*OHLC/s;
    await assert.rejects(settingsWith(`daily: { enabled: true, fields: ${fields} }`), says);
  }
});

test('the table keeps what became of each of the twelve kinds apart', () => {
  const kinds = Array.from({ length: 12 }, (_, at) => `daily/${at}` as const);
  const table = new InstrumentTable(kinds);
  const { plans } = table.put('1', 'CH0000000001', 5_000);
  for (const [at, plan] of plans.entries()) {
    plan.shown = at % 2 === 0 ? 'own' : 'nothing';
    plan.isPriced = at % 3 === 0;
    plan.pulled = at % 5 === 0;
    plan.sinceMs = at * 1_000;
  }
  const again = table.get('1');
  assert.equal(again?.isinChanged, false);
  for (const [at, { shown, isPriced, pulled, sinceMs }] of (again?.plans ?? []).entries()) {
    const expected = [at % 2 === 0 ? 'own' : 'nothing', at % 3 === 0, at % 5 === 0, at * 1_000];
    assert.deepEqual([shown, isPriced, pulled, sinceMs], expected, `kind ${at}`);
  }
  const other = table.put('1', 'CH0000000002', 5_000);
  assert.equal(other.isinChanged, true);
  assert.ok(other.plans.every(({ isPriced, pulled, shown }) => !isPriced && !pulled && shown === 'unproven'));
});
