import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRow, recordOf } from '../../../support/decoding/avro-decoding.ts';

async function failureOf(row: string, onMismatch: 'deadLetter' | 'keepInExtras' = 'deadLetter') {
  const decoded = await decodeRow(row, { onMismatch });
  assert.equal(decoded.kind, 'failure');
  return decoded;
}

async function countsOf(row: string, onMismatch: 'deadLetter' | 'keepInExtras' = 'deadLetter') {
  const decoded = await decodeRow(row, { onMismatch });
  assert.equal(decoded.kind, 'record');
  return { driftFields: decoded.driftFields, roundedNumbers: decoded.roundedNumbers };
}

async function sameBytes(rows: readonly string[]): Promise<void> {
  const values = [];
  for (const row of rows) {
    const decoded = await decodeRow(row);
    assert.ok(decoded.kind === 'record', row);
    values.push(decoded.value.toString('hex'));
  }
  assert.equal(new Set(values).size, 1, rows.join(' | '));
}

test('each kind of field arrives with its exact value', async () => {
  const row = `{"id":1,"name":"Z\\u00fcrich","issuePrice":100.10,"quanto":false,"paymentDate":"2024-02-29",
    "initialFixingTime":"2025-01-26 17:30:00","underlyings":[{"ratio":7.340916275828025564,"monitors":[{"level":1e2}]}],
    "regulations":{"emt":{"costsExAnte":{"_07110_Financial_Instrument_Management_Fee":0.0120}}}}`;
  assert.deepEqual(await recordOf(row), {
    id: '1',
    name: 'Zürich',
    issuePrice: '100.1',
    quanto: false,
    paymentDate: '2024-02-29',
    initialFixingTime: '2025-01-26 17:30:00',
    underlyings: [{ ratio: '7.340916275828025564', monitors: [{ level: '100' }] }],
    regulations: { emt: { costsExAnte: { _07110_Financial_Instrument_Management_Fee: '0.012' } } },
  });
});

test('an id that is no plain integer makes a dead letter, whatever the setting', async () => {
  for (const id of ['1.0', '1e3', '"1"', 'null', 'true', '9223372036854775808', '-9223372036854775809', '1e400']) {
    for (const onMismatch of ['deadLetter', 'keepInExtras'] as const) {
      const failure = await failureOf(`{"id":${id},"name":"x"}`, onMismatch);
      assert.deepEqual([failure.key, failure.pointer], [null, '/id'], id);
    }
  }
  assert.equal((await failureOf('{"name":"x"}')).reason, 'found null, expected a 64-bit integer');
});

test('absent and null are the same, for fields that are not known too', async () => {
  await sameBytes([
    '{"id":1,"underlyings":[{"isin":"X"}]}',
    '{"id":1,"name":null,"underlyings":[{"isin":"X","ratio":null,"future":null}],"future":null}',
  ]);
});

test('one instrument has one encoding, whatever its key casing, key order, spaces and number forms', async () => {
  await sameBytes([
    '{"id":1,"issuePrice":1.0,"identifiers":[{"type":"isin","value":"CH1"}],"future":{"a":1}}',
    '{ "Future" : null, "future": {"a" : 1}, "Identifiers" : [ {"Value":"CH1","Type":"isin"} ], "IssuePrice":1e0,"Id":1}',
  ]);
});

test('the exact key wins over the capitalised one, which is kept', async () => {
  assert.deepEqual(await recordOf('{"id":1,"Name":"b","name":"a"}'), {
    id: '1',
    name: 'a',
    extras: { '/Name': '"b"' },
  });
  assert.deepEqual(await recordOf('{"id":1,"Name":"b","name":null}'), { id: '1', name: 'b' });
});

test('the isin is the first identifier of that type with a value, in any casing', async () => {
  const isin = async (identifiers: string) => {
    const text = `{"id":1,"identifiers":${identifiers}}`;
    const row = await decodeRow(text);
    assert.ok(row.kind === 'record');
    assert.equal(((await recordOf(text)) as { isin?: string }).isin ?? null, row.isin);
    return row.isin;
  };
  assert.equal(
    await isin('[{"type":"valor","value":"1"},{"type":"ISIN","value":"CH1"},{"type":"isin","value":"CH2"}]'),
    'CH1',
  );
  assert.equal(
    await isin('[{"type":"isin","value":null},{"type":"isin","value":""},{"Type":"Isin","Value":"CH2"}]'),
    'CH2',
  );
  assert.equal(await isin('[{"type":"wkn","value":"1"}]'), null);
  assert.equal(await isin('null'), null);
});

test('unknown fields of any depth are kept by pointer, minified, sorted and counted', async () => {
  const row = `{"id":1,"zeta":1.50,"isin":"X","extras":[1, {"a" : null}],"Underlyings":[{},{"New/Key~":{"b": "\\u00e9\\n", "a":1e5}}],
    "regulations":{"Emt":{"targetMarket":{"_99":true}}}}`;
  const record = (await recordOf(row)) as { extras: Record<string, string> };
  assert.deepEqual(Object.entries(record.extras), [
    ['/extras', '[1,{"a":null}]'],
    ['/isin', '"X"'],
    ['/regulations/emt/targetMarket/_99', 'true'],
    ['/underlyings/1/New~1Key~0', '{"b":"é\\n","a":1e5}'],
    ['/zeta', '1.50'],
  ]);
  assert.deepEqual(await countsOf(row), { driftFields: 5, roundedNumbers: 0 });
});

test('of a key that comes twice within an unknown field the last one is kept, and so of two with one pointer', async () => {
  const row = '{"id":1,"future":{"a":1,"b":{"c":1,"c":2},"a":3},"\\ud800":1,"x":0,"\\\\ud800":2}';
  const record = (await recordOf(row)) as { extras: Record<string, string> };
  assert.deepEqual(Object.entries(record.extras), [
    ['/\\ud800', '2'],
    ['/future', '{"a":3,"b":{"c":2}}'],
    ['/x', '0'],
  ]);
});

test('keys like __proto__ are unknown fields and change nothing else', async () => {
  const record = await recordOf(
    '{"id":1,"__proto__":{"polluted":1},"repayment":{"constructor":2,"__proto__":{"currency":"CHF"}}}',
  );
  assert.deepEqual(record, {
    id: '1',
    repayment: {},
    extras: {
      '/__proto__': '{"polluted":1}',
      '/repayment/__proto__': '{"currency":"CHF"}',
      '/repayment/constructor': '2',
    },
  });
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('a number with too many fraction digits is rounded in its field, verbatim in extras, and counted', async () => {
  const row = '{"id":1,"underlyings":[{"delta":0.33333333333333333333333,"ratio":1.0000000000000000000}]}';
  assert.deepEqual(await recordOf(row), {
    id: '1',
    underlyings: [{ delta: '0.333333333333333333', ratio: '1' }],
    extras: { '/underlyings/0/delta': '0.33333333333333333333333' },
  });
  assert.deepEqual(await countsOf(row), { driftFields: 0, roundedNumbers: 1 });
});

test('a lone surrogate becomes U+FFFD in its field, verbatim in extras, and is counted', async () => {
  const row = '{"id":1,"name":"a\\ud800b","\\udc00":1}';
  assert.deepEqual(await recordOf(row), {
    id: '1',
    name: 'a\ufffdb',
    extras: { '/\\udc00': '1', '/name': '"a\\ud800b"' },
  });
  assert.deepEqual(await countsOf(row), { driftFields: 2, roundedNumbers: 0 });
});

const WRONG: readonly { field: string; value: string; pointer: string; reason: RegExp }[] = [
  { field: 'name', value: '17', pointer: '/name', reason: /^found a number, expected a string$/ },
  {
    field: 'issuePrice',
    value: '"100"',
    pointer: '/issuePrice',
    reason: /^found a string, expected a decimal of 38 digits/,
  },
  {
    field: 'IssuePrice',
    value: '1e20',
    pointer: '/issuePrice',
    reason: /^found a number with more than 20 integer digits/,
  },
  { field: 'quanto', value: '"true"', pointer: '/quanto', reason: /^found a string, expected a boolean$/ },
  {
    field: 'paymentDate',
    value: '"2023-02-29"',
    pointer: '/paymentDate',
    reason: /^found a string of another form, expected a date/,
  },
  { field: 'paymentDate', value: '""', pointer: '/paymentDate', reason: /expected a date YYYY-MM-DD$/ },
  {
    field: 'finalFixingTime',
    value: '"2024-01-01"',
    pointer: '/finalFixingTime',
    reason: /date-time YYYY-MM-DD HH:MM:SS/,
  },
  { field: 'identifiers', value: '{}', pointer: '/identifiers', reason: /^found an object, expected an array$/ },
  {
    field: 'identifiers',
    value: '[{"type":"isin"},null]',
    pointer: '/identifiers/1',
    reason: /^found null, expected an object$/,
  },
  { field: 'repayment', value: '[]', pointer: '/repayment', reason: /^found an array, expected an object$/ },
  {
    field: 'underlyings',
    value: '[{"Monitors":[{"level":true}]}]',
    pointer: '/underlyings/0/monitors/0/level',
    reason: /^found a boolean, expected a decimal/,
  },
];

for (const { field, value, pointer, reason } of WRONG) {
  test(`${value} as ${field} makes a dead letter that names ${pointer} and has the row's bytes`, async () => {
    const row = `{ "id" : 9007199254740993, "new":1, "${field}": ${value} }`;
    const failure = await failureOf(row);
    assert.deepEqual([failure.key, failure.pointer], ['9007199254740993', pointer]);
    assert.match(failure.reason, reason);
    assert.equal(failure.raw.toString(), row);
  });
}

test('no reason quotes a value', async () => {
  for (const field of ['name', 'issuePrice', 'quanto', 'paymentDate', 'finalFixingTime', 'identifiers', 'repayment']) {
    for (const value of ['"canary"', '[31337]', '{"canary":31337}', '31337']) {
      const row = await decodeRow(`{"id":1,"${field}":${value}}`);
      if (row.kind === 'failure') assert.doesNotMatch(row.reason, /canary|31337/);
    }
  }
});

test('with keepInExtras a field of the wrong type becomes null and is kept whole', async () => {
  const row = `{"id":1,"name":17,"underlyings":[{"isin":"A","monitors":[{"level":"x","new":0.12345678901234567890}],"delta":"1"}],
    "markets":[{"mic":"X"},null]}`;
  assert.deepEqual(await recordOf(row, { onMismatch: 'keepInExtras' }), {
    id: '1',
    underlyings: [{ isin: 'A', monitors: [{}] }],
    extras: {
      '/markets': '[{"mic":"X"},null]',
      '/name': '17',
      '/underlyings/0/delta': '"1"',
      '/underlyings/0/monitors/0/level': '"x"',
      '/underlyings/0/monitors/0/new': '0.12345678901234567890',
    },
  });
  assert.deepEqual(await countsOf(row, 'keepInExtras'), { driftFields: 5, roundedNumbers: 0 });
});
