import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConnectorError } from '../../../../src/errors.ts';
import type { CheckDecoderOptions, DecodedCheck } from '../../../../src/records/decoding/check-decoder.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';
import { checkDecoder } from '../../../support/decoding/stream-decoding.ts';

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

/** Every way in which something that was sent could come out of a failure. */
function assertNoCanary(failure: object): void {
  const shown = inspect(failure, { depth: 10, showHidden: true, maxStringLength: null });
  for (const part of [CANARY, 'trade.example', '4711', Buffer.from('4711').toString('hex')]) {
    assert.ok(!shown.includes(part), shown);
  }
}

const URL_MEMBER = `"simulationUrl":"${CANARY}"`;
const FAILURES: readonly (readonly [check: string, key: string | null, pointer: string])[] = [
  [`{${URL_MEMBER}}`, null, '/preTradeCheckId'],
  [`{"preTradeCheckId":"",${URL_MEMBER}}`, null, '/preTradeCheckId'],
  [`{"preTradeCheckId":"${CANARY.repeat(20)}",${URL_MEMBER}}`, null, '/preTradeCheckId'],
  [`{"preTradeCheckId":"a","simulationUrl":["${CANARY}"]}`, 'a', '/simulationUrl'],
  [`{"preTradeCheckId":"a","indicativeTrades":[{},{"volume":"${CANARY}"}]}`, 'a', '/indicativeTrades/1/volume'],
  [`{"preTradeCheckId":"a","instrument":{"id":1,"paymentDate":"${CANARY}"}}`, 'a', '/instrument/paymentDate'],
  [`{"PreTradeCheckId":"a","${CANARY}":{"${CANARY}":1},"instrument":{}}`, 'a', '/instrument/id'],
  [`"${CANARY}"`, null, ''],
  [`{"preTradeCheckId":"a","simulationUrl":"${CANARY}${'x'.repeat(600_000)}"}`, 'a', ''],
  [`{"preTradeCheckId":"a","simulationUrl":"${CANARY}${'x'.repeat(2_000)}"}`, 'a', ''],
];

test('a check that is no record is a failure that holds nothing of it but the key', async () => {
  for (const [check, key, pointer] of FAILURES) {
    const failure = await decodeCheck(check, { maxValueBytes: 1_000 });
    assert.ok(failure.kind === 'failure');
    assert.deepEqual([failure.key, failure.pointer, failure.raw.length], [key, pointer, 0]);
    assert.notEqual(failure.reason, '');
    assertNoCanary(failure);
  }
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
