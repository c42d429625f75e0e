import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
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

test('numbers of 28 digits and instants finer than a microsecond are rounded, kept verbatim, and counted', async () => {
  const members =
    '"lastOpen":10.1234567890123456785000000001,"lastOpenObservedAtTimestamp":"2026-01-07T12:00:00.1234567Z","lastClose":1.2345678901234567890000000000';
  const answers = await answersOf(bulkBody([pricedItem('A', members)]), ['A']);
  const record = recordsOf(answers)[0];
  assert.deepEqual(
    [record?.lastOpen, record?.lastOpenObservedAtTimestamp, record?.lastClose],
    ['10.123456789012345679', '2026-01-07T12:00:00.123457Z', '1.234567890123456789'],
  );
  assert.deepEqual(record?.extras, {
    '/lastOpen': '10.1234567890123456785000000001',
    '/lastOpenObservedAtTimestamp': '"2026-01-07T12:00:00.1234567Z"',
  });
  assert.deepEqual([answers.drift, answers.roundedNumbers], [0, 2]);
});

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

test('of keys that come twice the last counts, for whose price it is too', async () => {
  const twice =
    '{"responseIdentifier":{"isin":"A","isin":"B"},"response":{"$type":"x","$type":"ProductPriceOverviewResponse","lastOpen":1,"lastOpen":2},"errorResponse":null}';
  await assert.rejects(answersOf(bulkBody([twice]), ['A']), { code: 'BULK_MISMATCH' });
  const answers = await answersOf(bulkBody([twice]), ['B']);
  assert.equal(recordsOf(answers)[0]?.lastOpen, '2');
  assert.equal(answers.drift, 3);
});

test('an item that the provider could not answer is a problem of its own, the others are priced', async () => {
  const problem =
    '{"type":null,"title":"Not\\u001b[2J Found","status":404,"detail":"There is no such product.","traceId":"1"}';
  const items = [
    A,
    failedItem('B', problem),
    failedItem('C'),
    failedItem('D', '"broken"'),
    failedItem('E', '{"status":"500"}'),
  ];
  const { answers, errorsFlagDiffers } = await answersOf(bulkBody(items), ['A', 'B', 'C', 'D', 'E']);
  assert.equal(answers[0]?.kind, 'prices');
  const problems = answers.slice(1).map((one) => (one.kind === 'problem' ? [one.status, one.title] : null));
  assert.deepEqual(problems, [
    [404, 'Not\\u{1b}[2J Found'],
    [null, null],
    [null, null],
    [null, null],
  ]);
  assert.equal(answers[1]?.kind === 'problem' && answers[1].item.toString(), failedItem('B', problem));
  assert.equal(errorsFlagDiffers, false);
});

test('a price with an error beside it is none', async () => {
  const item = A.replace('"errorResponse":null', '"errorResponse":{"status":500}');
  const { answers, errorsFlagDiffers } = await answersOf(bulkBody([item], true), ['A']);
  assert.deepEqual([answers[0]?.kind, errorsFlagDiffers], ['problem', false]);
});

test('an errors flag that says otherwise than the items is reported, and harms nothing', async () => {
  for (const [items, errors] of [
    [[A], 'true'],
    [[failedItem('A')], 'false'],
    [[A], '"false"'],
    [[A], 'null'],
  ] as const) {
    const { answers, errorsFlagDiffers } = await answersOf(`{"errors":${errors},"items":[${items}]}`, ['A']);
    assert.deepEqual([answers.length, errorsFlagDiffers], [1, true]);
  }
  assert.equal((await answersOf(`{"items":[${A}]}`, ['A'])).errorsFlagDiffers, true);
});

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

test('a zone is assumed only where the settings name one, and mismatches are kept where they say so', async () => {
  const body = bulkBody([pricedItem('A', '"lastOpen":"x","lastOpenObservedAtTimestamp":"2026-07-07T12:00:00"')]);
  const kept = recordsOf(await answersOf(body, ['A'], { onMismatch: 'keepInExtras', assumedZone: 'Europe/Zurich' }))[0];
  assert.deepEqual([kept?.lastOpen, kept?.lastOpenObservedAtTimestamp], [null, '2026-07-07T10:00:00Z']);
  assert.deepEqual(kept?.extras, { '/lastOpen': '"x"' });
});

test('what the interface does not allow is kept in extras and counted, wherever it stands', async () => {
  const members = '"requestedAt":"x","isin":"Z","instrumentId":9,"lastPrice":{"mid":1.50},"extras":{}';
  const item = pricedItem('A', members).replace('{"responseIdentifier"', '{"took":5,"responseIdentifier"');
  const answers = await answersOf(`{"errors":false,"took":1,"items":[${item}]}`, ['A']);
  const record = recordsOf(answers)[0];
  assert.deepEqual([record?.instrumentId, record?.isin, record?.requestedAt], ['1', 'A', '1970-01-01T00:16:40Z']);
  assert.deepEqual(record?.extras, {
    '/extras': '{}',
    '/instrumentId': '9',
    '/isin': '"Z"',
    '/lastPrice/mid': '1.50',
    '/requestedAt': '"x"',
  });
  assert.equal(answers.drift, 7);
});

test('a record that the topic does not take is unusable', async () => {
  const { answers } = await answersOf(bulkBody([pricedItem('A', `"note":"${'n'.repeat(2_000)}"`), B]), ['A', 'B'], {
    maxValueBytes: () => 1_000,
  });
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ['unusable', 'prices'],
  );
});

test('a snapshot has no digest: it is written each time', async () => {
  const { answers } = await answersOf(bulkBody([A]), ['A']);
  assert.deepEqual(
    answers.map((answer) => answer.kind === 'prices' && answer.records.map(({ digest }) => digest)),
    [[null]],
  );
});

test('the question is what the settings say, windows from the look-back on', async () => {
  const clock = { wallMs: () => Date.UTC(2026, 0, 7, 12, 34, 56, 789), monotonicMs: () => 0, sleep: async () => {} };
  const { prices, asked } = bulkPricesFrom(bulkBody([]), {
    clock,
    asked: plansOf({
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
      { kind: 'daily', dateFrom: '2026-01-04', dateTo: null, fields: 'OHLC', orderByAscending: true, count: null },
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
    const asked = plansOf({
      intraday: { fields: ['Close'], interval: ['Minute_5'], lookBackMs: 3_600_000, catchUpMs: 86_400_000 },
    });
    const provider = bulkPricesFrom(bulkBody([]), { clock, asked, date: () => wallMs - aheadMs });
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

test('an item that is too long to be looked into is no price', async () => {
  const long = pricedItem('A', `"note":"${'n'.repeat(4_000_000)}"`);
  const { answers } = await answersOf(bulkBody([long, B]), ['A', 'B'], { chunkBytes: 100_000 });
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ['unusable', 'prices'],
  );
});

for (const body of ['', '{}', '[]', '{"items":{}}', '{"errors":false,"items":[', bulkBody([A]).slice(0, -1)]) {
  test(`the body ${body.slice(0, 40)} is no answer`, async () => {
    await assert.rejects(answersOf(body, ['A']), { code: 'BODY_MALFORMED' });
  });
}
