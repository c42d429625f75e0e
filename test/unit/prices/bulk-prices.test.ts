import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { withoutNulls } from '../../support/decoding/avro-decoding.ts';
import {
  answersOf,
  bulkBody,
  bulkPricesFrom,
  failedItem,
  plansOf,
  pricedItem,
  questionsFor,
  recordsOf,
} from '../../support/decoding/bulk-answers.ts';

const SIGNAL = new AbortController().signal;
const GOOD = [pricedItem('A', '"lastOpen":1.0'), pricedItem('B', '"lastOpen":2'), pricedItem('C', '"lastOpen":3')];
const [A = '', B = '', C = ''] = GOOD;

const MISMATCHES: Readonly<Record<string, readonly string[]>> = {
  'two items are swapped': [B, A, C],
  'the first is missing': [B, C],
  'the last is missing': [A, B],
  'there are none': [],
  'one is added at the end': [...GOOD, C],
  'one is added in between': [A, A, B, C],
  'one has another isin': [A, B.replace('"B"', '"X"'), C],
  'one has the isin in another casing': [A, B.replace('"B"', '"b"'), C],
  'one has an isin that is no text': [A, B.replace('"isin":"B"', '"isin":["B"]'), C],
  'one has no responseIdentifier': [A, B.replace('responseIdentifier', 'identifier'), C],
  'one has another $type': [A, pricedItem('B', '"prices":[]', 'ProductDailyPriceResponse'), C],
  'one has no $type': [A, B.replace('$type', 'type'), C],
  'one is a text': [A, '"B"', C],
  'one is null': [A, 'null', C],
  'one response is a list': [A, '{"responseIdentifier":{"isin":"B"},"response":[1],"errorResponse":null}', C],
  'a failed one has another isin': [A, failedItem('X', '{"status":500}'), C],
};
for (const [what, items] of Object.entries(MISMATCHES)) {
  test(`nothing of an answer is used when ${what}`, async () => {
    await assert.rejects(answersOf(bulkBody(items), ['A', 'B', 'C']), (error) => {
      assert.ok(error instanceof ConnectorError, String(error));
      assert.deepEqual([error.code, error.action], ['BULK_MISMATCH', 'askForLess']);
      assert.doesNotMatch(error.message, /"[ABCXb]"/);
      return true;
    });
  });
}

for (const type of ['productPriceOverviewResponse', 'PRODUCTPRICEOVERVIEWRESPONSE']) {
  test(`the $type ${type} is that of an overview in another casing: its prices are taken`, async () => {
    const answers = await answersOf(bulkBody([A, pricedItem('B', '"lastOpen":2', type)]), ['A', 'B']);
    assert.equal(recordsOf(answers, 1)[0]?.lastOpen, '2');
    assert.equal(recordsOf(answers, 1)[0]?.extras, null);
  });
}

const UNUSABLE: Readonly<Record<string, readonly [members: string, pointer: string, reason: RegExp]>> = {
  'a price that is a text': ['"lastOpen":"1.0"', '/response/lastOpen', /^found a string, expected a decimal/],
  'a price of 21 integer digits': ['"lastClose":100000000000000000000', '/response/lastClose', /integer digits/],
  'an instant without a zone': [
    '"lastCloseObservedAtTimestamp":"2026-01-07T12:00:00"',
    '/response/lastCloseObservedAtTimestamp',
    /without a zone.*marketData\.assumedZone/,
  ],
  'an instant that is none': [
    '"lastPrice":{"observedAtTimestamp":"yesterday"}',
    '/response/lastPrice/observedAtTimestamp',
    /another form/,
  ],
  'a lastPrice that is a number': ['"lastPrice":5', '/response/lastPrice', /expected an object/],
};
for (const [what, [members, pointer, reason]] of Object.entries(UNUSABLE)) {
  test(`${what} makes its item unusable and no other, and is quoted in no reason`, async () => {
    const bad = pricedItem('B', members);
    const { answers } = await answersOf(bulkBody([A, bad, C]), ['A', 'B', 'C']);
    const [first, second, third] = answers;
    assert.deepEqual([first?.kind, third?.kind], ['prices', 'prices']);
    assert.ok(second?.kind === 'unusable', second?.kind);
    assert.equal(second.pointer, pointer);
    assert.match(second.reason, reason);
    assert.doesNotMatch(second.reason, /yesterday|2026|1\.0|100000/);
    assert.equal(second.item.toString(), bad);
  });
}

test('the question is what the settings say, windows from the look-back on', async () => {
  const clock = { wallMs: () => Date.UTC(2026, 0, 7, 12, 34, 56, 789), monotonicMs: () => 0, sleep: async () => {} };
  const { prices, asked } = bulkPricesFrom(bulkBody([]), {
    clock,
    kinds: plansOf({
      overview: { fields: ['LastPrice'] },
      daily: { fields: ['OHLC'], lookBackMs: 3 * 86_400_000, catchUpMs: 86_400_000 },
      intraday: { fields: ['Close'], interval: ['Minute_5'], lookBackMs: 3_600_000, catchUpMs: 86_400_000 },
    }),
  });
  for (const kind of ['overview', 'daily', 'intraday'] as const) {
    await prices.ask(kind, questionsFor(['A']), SIGNAL).catch(() => {});
  }
  assert.deepEqual(
    asked.map((items) => items[0]?.query),
    [
      { kind: 'overview', fields: ['LastPrice'] },
      { kind: 'daily', dateFrom: '2026-01-04', dateTo: null, fields: 'OHLC', orderByAscending: true },
      { kind: 'intraday', interval: 'Minute_5', dateFrom: '2026-01-07T11:30:00Z', dateTo: null, fields: 'Close' },
    ],
  );
});

test('where our clock is ahead of the provider, the look-back begins by the provider, from the second question on', async () => {
  const wallMs = Date.UTC(2026, 0, 7, 12, 34, 56);
  const clock = { wallMs: () => wallMs, monotonicMs: () => 0, sleep: async () => {} };
  for (const [aheadMs, dateFrom] of [
    [61_000, '2026-01-07T11:30:00Z'],
    [3_600_000, '2026-01-07T10:30:00Z'],
    [-3_600_000, '2026-01-07T11:30:00Z'],
    [40 * 365 * 86_400_000, '2026-01-06T11:30:00Z'],
  ] as const) {
    const kinds = plansOf({
      intraday: { fields: ['Close'], interval: ['Minute_5'], lookBackMs: 3_600_000, catchUpMs: 86_400_000 },
    });
    const provider = bulkPricesFrom(bulkBody([]), { clock, kinds, date: () => wallMs - aheadMs });
    for (let n = 0; n < 2; n++) await provider.prices.ask('intraday', questionsFor(['A']), SIGNAL).catch(() => {});
    const begins = provider.asked.map(([item]) => (item?.query.kind === 'intraday' ? item.query.dateFrom : null));
    assert.deepEqual(begins, ['2026-01-07T11:30:00Z', dateFrom]);
  }
});

test('a schema id that could not be had is asked for again, one that was is not', async () => {
  let calls = 0;
  const schemaId = async () => {
    calls += 1;
    if (calls === 1) throw new ConnectorError('REGISTRY_UNREACHABLE', 'not yet');
    return 21;
  };
  const { prices, asked } = bulkPricesFrom(bulkBody([A]), { schemaId });
  await assert.rejects(prices.ask('overview', questionsFor(['A']), SIGNAL), { code: 'REGISTRY_UNREACHABLE' });
  assert.equal(asked.length, 0);
  await prices.ask('overview', questionsFor(['A']), SIGNAL);
  await prices.ask('overview', questionsFor(['A']), SIGNAL);
  assert.equal(calls, 2);
});

const UNREADABLE: Record<string, Buffer> = {
  'a byte that is not UTF-8': Buffer.from(pricedItem('B', '"lastOpen":2,"note":"\xfc"'), 'latin1'),
  'a depth of 65': Buffer.from(pricedItem('B', `"lastOpen":2,"note":${'['.repeat(61)}${']'.repeat(61)}`)),
  'four million characters': Buffer.from(pricedItem('B', `"note":"${'n'.repeat(4_000_000)}"`)),
};
for (const [what, item] of Object.entries(UNREADABLE)) {
  test(`one item with ${what} is no price, and the others are`, async () => {
    const body = Buffer.from(bulkBody([A, '?', C]));
    const at = body.indexOf('?');
    const spoiled = Buffer.concat([body.subarray(0, at), item, body.subarray(at + 1)]);
    const { answers } = await answersOf(spoiled, ['A', 'B', 'C'], { chunkBytes: 100_000 });
    const [first, unusable, third] = answers;
    assert.deepEqual([first?.kind, third?.kind], ['prices', 'prices']);
    assert.ok(unusable?.kind === 'unusable' && unusable.item.equals(item));
  });
}

for (const body of ['', '{}', '[]', '{"items":{}}', '{"errors":false,"items":[', bulkBody([A]).slice(0, -1)]) {
  test(`the body ${body.slice(0, 40)} is no answer`, async () => {
    await assert.rejects(answersOf(body, ['A']), { code: 'BODY_MALFORMED' });
  });
}

test('drift and rounded numbers of a response are counted, and of a problem its status is read', async () => {
  // The extras keep the text of an instant finer than a microsecond too, but it is no number.
  const fine = '"lastOpenObservedAtTimestamp":"2026-01-02T03:04:05.1234567Z"';
  const priced = pricedItem('A', `"new":1,"lastOpen":0.1234567890123456789,${fine}`);
  const failed = failedItem('B', '{"status":1.5,"title":"gone\\n"}').replace('{', '{"later":1,');
  const body = `{"errors":false,"errors":true,"more":1,"none":null,"items":[${priced},${failed}]}`;
  const { answers, drift, roundedNumbers } = await answersOf(body, ['A', 'B']);
  assert.deepEqual([drift, roundedNumbers], [4, 1]);
  assert.deepEqual(answers[1], { kind: 'problem', status: null, item: Buffer.from(failed) });
});

const DAY = (date: string, more = '') => `{"date":"${date}","close":1.5${more}}`;

test('days have keys of their own, what stands beside them is kept with each, of a day sent twice the last counts', async () => {
  const prices = `"prices":[${DAY('2026-01-06')},${DAY('2026-01-07')},${DAY('2026-01-06', ',"closeMethod":"Close","x":1')}],"currency":"CHF"`;
  const body = bulkBody([pricedItem('A', prices, 'ProductDailyPriceResponse')]);
  const answers = await answersOf(body, ['A'], { kind: 'daily' });
  const answer = answers.answers[0];
  assert.ok(answer?.kind === 'prices');
  const keys = answer.records.map(({ key }) => key.toString());
  assert.deepEqual(keys, ['1/Close/2026-01-07', '1/Close/2026-01-06']);
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
