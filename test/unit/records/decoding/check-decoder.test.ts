import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConnectorError } from '../../../../src/errors.ts';
import { readWireValue } from '../../../../src/records/avro/wire-format.ts';
import type { CheckDecoderOptions, DecodedCheck } from '../../../../src/records/decoding/check-decoder.ts';
import { toJsonText } from '../../../../src/records/json/json-value.ts';
import { chunked, withoutNulls } from '../../../support/decoding/avro-decoding.ts';
import { CHECK_SCHEMA_ID, checkDecoder, reader } from '../../../support/decoding/stream-decoding.ts';

const CANARY = 'https://trade.example/simulate?ticket=4711';
const CHECK = `{"preTradeCheckId":"PTC-1","simulationUrl":"${CANARY}",
  "instrument":{"id":7,"identifiers":[{"type":"isin","value":"CH1"}],"new":1},
  "indicativeTrades":[{"preTradeCheckId":"PTC-1","quantity":10,"volume":1000.123456789012345678,"volumeNet":1e3,"reference":"r"}]}`;

async function decodeCheck(check: string, options: Partial<CheckDecoderOptions> = {}): Promise<DecodedCheck> {
  const { rows } = await checkDecoder(options).decode(chunked(`{"preTradeChecks":[${check}],"links":{}}`));
  const [row] = rows;
  assert.ok(row !== undefined);
  return row;
}

function readCheck(decoded: DecodedCheck): object {
  assert.ok(decoded.kind === 'record', 'a failure');
  return withoutNulls(reader.read(decoded.value)) as object;
}

/** Every way in which something that was sent could come out of a failure. */
function assertNoCanary(failure: object): void {
  const shown = inspect(failure, { depth: 10, showHidden: true, maxStringLength: null });
  for (const part of [CANARY, 'trade.example', '4711', Buffer.from('4711').toString('hex')]) {
    assert.ok(!shown.includes(part), shown);
  }
}

test('an answer gives its checks, exactly, and the envelope', async () => {
  const body = `{"nextId":"5-0","preTradeChecks":[${CHECK}],"links":{"next":"/v1/pretradechecks?since=5-0"}}`;
  const { rows, envelope } = await checkDecoder().decode(chunked(body, 3));
  assert.equal(toJsonText(envelope), '{"nextId":"5-0","links":{"next":"/v1/pretradechecks?since=5-0"}}');
  const [row] = rows;
  assert.ok(row?.kind === 'record');
  assert.deepEqual([row.key, row.isin, row.driftFields, row.roundedNumbers], ['PTC-1', 'CH1', 1, 0]);
  assert.equal(readWireValue(row.value).schemaId, CHECK_SCHEMA_ID);
  assert.deepEqual(readCheck(row), {
    preTradeCheckId: 'PTC-1',
    isin: 'CH1',
    simulationUrl: CANARY,
    instrument: { id: '7', isin: 'CH1', identifiers: [{ type: 'isin', value: 'CH1' }], extras: { '/new': '1' } },
    indicativeTrades: [
      {
        preTradeCheckId: 'PTC-1',
        quantity: '10',
        volume: '1000.123456789012345678',
        volumeNet: '1000',
        reference: 'r',
      },
    ],
  });
});

test('a check without instrument or trades is a record, and what is unknown is kept', async () => {
  assert.deepEqual(readCheck(await decodeCheck('{"preTradeCheckId":"a","client":{"b":[1.0]}}')), {
    preTradeCheckId: 'a',
    extras: { '/client': '{"b":[1.0]}' },
  });
});

const URL_MEMBER = `"simulationUrl":"${CANARY}"`;
const FAILURES: readonly { what: string; check: string; key: string | null; pointer: string }[] = [
  { what: 'no id', check: `{${URL_MEMBER}}`, key: null, pointer: '/preTradeCheckId' },
  { what: 'an empty id', check: `{"preTradeCheckId":"",${URL_MEMBER}}`, key: null, pointer: '/preTradeCheckId' },
  {
    what: 'an id that is no key',
    check: `{"preTradeCheckId":"${CANARY.repeat(20)}",${URL_MEMBER}}`,
    key: null,
    pointer: '/preTradeCheckId',
  },
  {
    what: 'a URL of another type',
    check: `{"preTradeCheckId":"a","simulationUrl":["${CANARY}"]}`,
    key: 'a',
    pointer: '/simulationUrl',
  },
  {
    what: 'the URL in place of a number',
    check: `{"preTradeCheckId":"a",${URL_MEMBER},"indicativeTrades":[{},{"volume":"${CANARY}"}]}`,
    key: 'a',
    pointer: '/indicativeTrades/1/volume',
  },
  {
    what: 'the URL in place of a date',
    check: `{"preTradeCheckId":"a","instrument":{"id":1,"paymentDate":"${CANARY}"}}`,
    key: 'a',
    pointer: '/instrument/paymentDate',
  },
  {
    what: 'an instrument without id beside a member named like the URL',
    check: `{"PreTradeCheckId":"a","${CANARY}":{"${CANARY}":1},${URL_MEMBER},"instrument":{}}`,
    key: 'a',
    pointer: '/instrument/id',
  },
  { what: 'no object', check: `"${CANARY}"`, key: null, pointer: '' },
  {
    what: 'a value that is too long to be read',
    check: `{"preTradeCheckId":"a","simulationUrl":"${CANARY}${'x'.repeat(600_000)}"}`,
    key: 'a',
    pointer: '',
  },
];

for (const { what, check, key, pointer } of FAILURES) {
  test(`a check with ${what} is a failure that holds nothing of it but the key`, async () => {
    const failure = await decodeCheck(check);
    assert.ok(failure.kind === 'failure');
    assert.deepEqual([failure.key, failure.pointer, failure.raw.length], [key, pointer, 0]);
    assert.notEqual(failure.reason, '');
    assertNoCanary(failure);
  });
}

test('a check that is too long for the topic is a failure that holds nothing of it but the key', async () => {
  const failure = await decodeCheck(CHECK, { maxValueBytes: 50 });
  assert.ok(failure.kind === 'failure');
  assert.deepEqual([failure.key, failure.pointer, failure.raw.length], ['PTC-1', '', 0]);
  assertNoCanary(failure);
});

test('mismatches that are kept stand in the record, but an id must be one', async () => {
  const kept = await decodeCheck(`{"preTradeCheckId":"a","simulationUrl":5,"instrument":{"id":"x"}}`, {
    onMismatch: 'keepInExtras',
  });
  assert.deepEqual(readCheck(kept), {
    preTradeCheckId: 'a',
    extras: { '/instrument': '{"id":"x"}', '/simulationUrl': '5' },
  });
  const failure = await decodeCheck(`{"preTradeCheckId":5,${URL_MEMBER}}`, { onMismatch: 'keepInExtras' });
  assert.ok(failure.kind === 'failure');
  assertNoCanary(failure);
});

test('a body that is cut or is no answer is refused without a word of it', async () => {
  const bodies = [
    `{"preTradeChecks":[${CHECK.slice(0, 70)}`,
    `{"checks":[${CHECK}]}`,
    `{"preTradeChecks":"${CANARY}"}`,
  ];
  for (const body of bodies) {
    await assert.rejects(checkDecoder().decode(chunked(body)), (error) => {
      assert.ok(error instanceof ConnectorError && error.code === 'BODY_MALFORMED', String(error));
      assertNoCanary({ message: error.message, fields: error.fields, cause: error.cause });
      return true;
    });
  }
});

test('a single check is found bare, wrapped, and alone in a list', async () => {
  const expected = await decodeCheck(CHECK);
  assert.ok(expected.kind === 'record');
  const wrapped = [`{"preTradeCheck":${CHECK},"links":{"next":null}}`, `{"preTradeChecks":[${CHECK}],"nextId":"1-1"}`];
  for (const body of [CHECK, ...wrapped, `[${CHECK}]`, `{"PreTradeCheck":${CHECK}}`]) {
    const single = await checkDecoder().decodeSingle(chunked(body));
    assert.ok(single.kind === 'record', body);
    assert.ok(single.value.equals(expected.value), body);
  }
});

test('a single check that does not map is a failure, and none or several are refused', async () => {
  const noId = `{${URL_MEMBER},"indicativeTrades":[{"preTradeCheckId":"b"}]}`;
  for (const body of [noId, `{"check":${noId}}`]) {
    const single = await checkDecoder().decodeSingle(chunked(body));
    assert.ok(single.kind === 'failure', body);
    assert.deepEqual([single.key, single.pointer, single.raw.length], [null, '/preTradeCheckId', 0]);
    assertNoCanary(single);
  }
  const refused = ['{}', 'null', '[]', `"${CANARY}"`, `{"a":{"b":${CHECK}}}`, `[${CHECK},${CHECK}]`, `{"a":${CHECK}`];
  for (const body of [...refused, `{"url":"${CANARY}${'x'.repeat(600_000)}"}`]) {
    await assert.rejects(checkDecoder().decodeSingle(chunked(body)), (error) => {
      assert.ok(error instanceof ConnectorError && error.code === 'BODY_MALFORMED', String(error));
      assertNoCanary({ message: error.message, fields: error.fields, cause: error.cause });
      return true;
    });
  }
});
