import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRow, recordOf } from '../../../support/decoding/avro-decoding.ts';

async function failureOf(row: string, onMismatch: 'deadLetter' | 'keepInExtras' = 'deadLetter') {
  const decoded = await decodeRow(row, { onMismatch });
  assert.equal(decoded.kind, 'failure');
  return decoded;
}

test('an id that is no plain integer makes a dead letter, whatever the setting', async () => {
  for (const id of ['1.0', '1e3', '"1"', 'null', 'true', '9223372036854775808', '-9223372036854775809', '1e400']) {
    for (const onMismatch of ['deadLetter', 'keepInExtras'] as const) {
      const failure = await failureOf(`{"id":${id},"name":"x"}`, onMismatch);
      assert.deepEqual([failure.key, failure.pointer], [null, '/id'], id);
    }
  }
  assert.equal((await failureOf('{"name":"x"}')).reason, 'found null, expected a 64-bit integer');
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

test('of a key that comes twice within an unknown field the last one is kept, and so of two with one pointer', async () => {
  const row = '{"id":1,"future":{"a":1,"b":{"c":1,"c":2},"a":3},"\\ud800":1,"x":0,"\\\\ud800":2}';
  const record = (await recordOf(row)) as { extras: Record<string, string> };
  assert.deepEqual(Object.entries(record.extras), [
    ['/\\ud800', '2'],
    ['/future', '{"a":3,"b":{"c":2}}'],
    ['/x', '0'],
  ]);
});

test('no reason quotes a value', async () => {
  for (const field of ['name', 'issuePrice', 'quanto', 'paymentDate', 'finalFixingTime', 'identifiers', 'repayment']) {
    for (const value of ['"canary"', '[31337]', '{"canary":31337}', '31337']) {
      const row = await decodeRow(`{"id":1,"${field}":${value}}`);
      if (row.kind === 'failure') assert.doesNotMatch(row.reason, /canary|31337/);
    }
  }
});
