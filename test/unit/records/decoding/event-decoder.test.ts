import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordDigest } from '../../../../src/records/avro/record-digest.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../../src/records/avro/wire-format.ts';
import { toJsonText } from '../../../../src/records/json/json-value.ts';
import { chunked, decodeRow, SCHEMA_ID, withoutNulls } from '../../../support/decoding/avro-decoding.ts';
import {
  decodeEvent,
  decodeEvents,
  EVENT_SCHEMA_ID,
  eventDecoder,
  reader,
} from '../../../support/decoding/stream-decoding.ts';

async function eventRecord(event: string, onMismatch: 'deadLetter' | 'keepInExtras' = 'deadLetter'): Promise<object> {
  return withoutNulls(reader.read((await decodeEvent(event, { onMismatch })).eventValue)) as object;
}

async function failureOf(event: string, onMismatch: 'deadLetter' | 'keepInExtras' = 'deadLetter') {
  const [decoded] = await decodeEvents([event], { onMismatch });
  assert.ok(decoded?.kind === 'failure', event);
  assert.equal(decoded.raw.toString(), event);
  return { key: decoded.key, pointer: decoded.pointer, reason: decoded.reason };
}

const INSTRUMENT = `{"id":7,"name":"Note","identifiers":[{"type":"ISIN","value":"CH1"}],"issuePrice":100.10,
  "underlyings":[{"barrierReachedTime":"2025-01-26 17:30:00"}]}`;

test('an events answer gives an event and its instrument for each, and the envelope', async () => {
  const event = `{"event":{"type":"barriercross","repayment":null,"coupon":null},"instrument":${INSTRUMENT}}`;
  const body = `{"nextId":"9-1","events":[${event}, ${event}],"links":{"next":"/e?since=9-0&maxEvents=500"}}`;
  for (const chunkBytes of [1, 10_000]) {
    const { rows, envelope, bytes } = await eventDecoder().decode(chunked(body, chunkBytes));
    assert.equal(toJsonText(envelope), '{"nextId":"9-1","links":{"next":"/e?since=9-0&maxEvents=500"}}');
    assert.equal(bytes, body.length);
    assert.equal(rows.length, 2);
    const [first] = rows;
    assert.ok(first?.kind === 'event');
    const { key, id, isin, type, name, driftFields, roundedNumbers } = first;
    assert.deepEqual(
      { key, id, isin, type, name, driftFields, roundedNumbers },
      { key: '7', id: 7n, isin: 'CH1', type: 'barriercross', name: 'Note', driftFields: 0, roundedNumbers: 0 },
    );
    assert.equal(readWireValue(first.eventValue).schemaId, EVENT_SCHEMA_ID);
    assert.equal(readWireValue(first.instrumentValue).schemaId, SCHEMA_ID);
    assert.deepEqual(withoutNulls(reader.read(first.eventValue)), {
      id: '7',
      isin: 'CH1',
      type: 'barriercross',
      instrument: withoutNulls(reader.read(first.instrumentValue)),
    });
  }
});

test('an instrument from an event has the bytes that it has from a page, and their digest', async () => {
  const instrument =
    '{"Id":9,"new":[1.0],"underlyings":[{"ratio":0.3333333333333333333333,"x":true}],"name":"\\ud800"}';
  for (const event of [`{"event":{},"instrument":${instrument}}`, `{"later":1,"Instrument":${instrument}}`]) {
    const decoded = await decodeEvent(event);
    const row = await decodeRow(instrument);
    assert.ok(row.kind === 'record');
    assert.ok(decoded.instrumentValue.equals(row.value));
    assert.equal(decoded.digest, recordDigest(row.value));
    const { instrument: inEvent } = reader.read(decoded.eventValue);
    assert.deepEqual(inEvent, reader.read(row.value));
  }
});

test('repayment and coupon keep whatever shape they have, to the digit', async () => {
  const shapes = [
    '{"amount":1.50,"At":[null,{}]}',
    '[1e5]',
    '"text \\ud800 \\u00e9"',
    '12345678901234567890.10',
    'false',
  ];
  const texts = ['{"amount":1.50,"At":[null,{}]}', '[1e5]', '"text \\ud800 é"', '12345678901234567890.10', 'false'];
  for (const [index, shape] of shapes.entries()) {
    const event = `{"event":{"type":"t","repayment":${shape},"coupon":${shape}},"instrument":{"id":1}}`;
    const [repayment, coupon] = [texts[index], texts[index]];
    assert.deepEqual(await eventRecord(event), { id: '1', type: 't', repayment, coupon, instrument: { id: '1' } });
  }
});

test('what is unknown stays beside the event or within the instrument, wherever it was sent', async () => {
  const event = '{"at":"now","Event":{"type":"t","why":{"b":1}},"instrument":{"id":1,"new":2,"repayment":{"z":3}}}';
  assert.deepEqual(await eventRecord(event), {
    id: '1',
    type: 't',
    extras: { '/at': '"now"', '/event/why': '{"b":1}' },
    instrument: { id: '1', repayment: {}, extras: { '/new': '2', '/repayment/z': '3' } },
  });
  assert.equal((await decodeEvent(event)).driftFields, 4);
});

test('an event without an instrument, or without its id, is one failure without a key', async () => {
  const reason = 'found null, expected an object';
  for (const event of ['{"event":{"type":"t"}}', '{"event":{"type":"t"},"instrument":null}', '{}']) {
    for (const onMismatch of ['deadLetter', 'keepInExtras'] as const) {
      assert.deepEqual(await failureOf(event, onMismatch), { key: null, pointer: '/instrument', reason });
    }
  }
  for (const id of ['null', '"7"', '1.0', '9223372036854775808']) {
    for (const onMismatch of ['deadLetter', 'keepInExtras'] as const) {
      const { key, pointer } = await failureOf(`{"event":{},"instrument":{"id":${id}}}`, onMismatch);
      assert.deepEqual([key, pointer], [null, '/instrument/id']);
    }
  }
  for (const event of ['null', '[]', '"x"']) assert.equal((await failureOf(event)).pointer, '');
  assert.equal((await failureOf('{"instrument":[{"id":1}]}')).pointer, '/instrument');
});

test('a wrong type beside the instrument is a failure too, or is kept in extras when that is set', async () => {
  const event = '{"event":{"type":5},"instrument":{"id":1,"quanto":"no","repayment":{"valueDate":{}}}}';
  assert.deepEqual((await failureOf('{"event":"t","instrument":{"id":1}}')).pointer, '/event');
  assert.deepEqual((await failureOf('{"event":{"type":5},"instrument":{"id":1}}')).pointer, '/event/type');
  assert.deepEqual(await eventRecord(event, 'keepInExtras'), {
    id: '1',
    extras: { '/event/type': '5' },
    instrument: { id: '1', repayment: {}, extras: { '/quanto': '"no"', '/repayment/valueDate': '{}' } },
  });
  assert.deepEqual(await eventRecord('{"event":"t","instrument":{"id":1}}', 'keepInExtras'), {
    id: '1',
    extras: { '/event': '"t"' },
    instrument: { id: '1' },
  });
});

test('a decoder is not made of schemas that do not belong together', () => {
  const other = readSchemaText('Instrument').replace('"scale":18', '"scale":17');
  assert.throws(() => eventDecoder({ instrumentSchema: other }), /by the schema of instruments/);
});
