import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutNulls } from '../../support/decoding/avro-decoding.ts';
import { answersOf, bulkBody, pricedItem, recordsOf } from '../../support/decoding/bulk-answers.ts';

const DAY = (date: string, more = '') => `{"date":"${date}","close":1.5${more}}`;

test('days have keys of their own, what stands beside them is kept with each, of a day sent twice the last counts', async () => {
  const prices = `"prices":[${DAY('2026-01-06')},${DAY('2026-01-07')},${DAY('2026-01-06', ',"closeMethod":"Close","x":1')}],"currency":"CHF"`;
  const body = bulkBody([pricedItem('A', prices, 'ProductDailyPriceResponse')]);
  const answers = await answersOf(body, ['A'], { kind: 'daily' });
  const answer = answers.answers[0];
  assert.ok(answer?.kind === 'prices');
  assert.deepEqual(
    answer.records.map(({ key }) => key.toString()),
    ['1/Close/2026-01-07', '1/Close/2026-01-06'],
  );
  assert.equal(answer.isQuotingPulled, null);
  assert.deepEqual(recordsOf(answers).map(withoutNulls)[1], {
    instrumentId: '1',
    fields: 'Close',
    date: '2026-01-06',
    isin: 'A',
    close: '1.5',
    closeMethod: 'Close',
    extras: { '/../currency': '"CHF"', '/x': '1' },
    requestedAt: '1970-01-01T00:16:40Z',
    receivedAt: '1970-01-01T00:16:40Z',
  });
  assert.equal(answers.drift, 2);
});

test('windows have keys of their own, the same for every way to write their opening', async () => {
  const window = (open: string) =>
    `{"windowOpenTimestamp":"${open}","windowCloseTimestamp":"2026-01-07T13:00:00Z","bid":1}`;
  const key = async (open: string) => {
    const body = bulkBody([pricedItem('A', `"prices":[${window(open)}]`, 'ProductIntradayPriceResponse')]);
    const { answers } = await answersOf(body, ['A'], { kind: 'intraday' });
    return answers[0]?.kind === 'prices' ? answers[0].records[0]?.key.toString() : null;
  };
  for (const open of [
    '2026-01-07T12:00:00Z',
    '2026-01-07T13:00:00.000+01:00',
    '2026-01-07T12:00:00.0000000Z',
    '20260107T1200Z',
  ]) {
    assert.equal(await key(open), '1/Hour_1/BidAsk/2026-01-07T12:00:00Z');
  }
});

test('a series of ten thousand windows is read, a longer one is unusable and says so', async () => {
  const fields = ['open', 'high', 'low', 'close', 'bid', 'bidSize', 'ask', 'askSize'].map(
    (name) => `"${name}":1234.5678`,
  );
  const windows = Array.from({ length: 10_001 }, (_, index) => {
    const open = new Date(index * 300_000).toISOString();
    return `{"windowOpenTimestamp":"${open}","windowCloseTimestamp":"${open}",${fields}}`;
  });
  const answered = async (count: number) => {
    const prices = `"prices":[${windows.slice(0, count)}]`;
    const body = bulkBody([pricedItem('A', prices, 'ProductIntradayPriceResponse')]);
    const { answers } = await answersOf(body, ['A'], { kind: 'intraday', chunkBytes: 100_000 });
    const [answer] = answers;
    return answer?.kind === 'prices' ? answer.records.length : answer?.kind === 'unusable' ? answer.reason : null;
  };
  assert.equal(await answered(10_000), 10_000);
  assert.equal(await answered(10_001), '10001 windows; at most 10000 are read');
});
