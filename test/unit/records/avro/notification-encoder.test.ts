import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NotificationContent, notificationEncoder } from '../../../../src/records/avro/record-encoder.ts';
import { NOTIFICATION_SCHEMA_ID, reader } from '../../../support/decoding/stream-decoding.ts';

const registry = { schemaId: async () => NOTIFICATION_SCHEMA_ID };
const encode = await notificationEncoder(registry, { name: 'notifications' }, new AbortController().signal);

const AT = Date.parse('2025-01-26T17:30:00.125Z');

test('every field of a notification arrives in its place', () => {
  const whole: Required<NotificationContent> = {
    source: 'a',
    kind: 'b',
    at: AT,
    message: 'c',
    walk: 1,
    walkStartedAt: AT + 1,
    added: 2,
    corrected: 3,
    unchanged: 500_000,
    gone: 5,
    reEncoded: 6,
    dead: 7,
    known: 8,
    gapFrom: AT + 2,
    gapTo: AT + 3,
    gapSinceFrom: '1-0',
    gapSinceTo: '2-0',
    why: 'd',
    lost: 'e',
    filterFrom: 'f',
    filterTo: 'g',
    errorCode: 'h',
  };
  const iso = Object.fromEntries(
    Object.entries(whole).map(([name, value]) => [
      name,
      Number(value) >= AT ? new Date(Number(value)).toISOString() : value,
    ]),
  );
  assert.deepEqual(reader.read(encode(whole)), iso);
});

test('a text that is no valid text is mended, so that every reader can read it', () => {
  const value = encode({ source: 's', kind: 'k', at: AT, message: 'since \ud800', why: '\udc00' });
  const { message, why } = reader.read(value);
  assert.deepEqual({ message, why }, { message: 'since \ufffd', why: '\ufffd' });
});

test('a counter that is no integer is refused', () => {
  for (const added of [1.5, Number.NaN, 2 ** 31]) {
    assert.throws(() => encode({ source: 's', kind: 'k', at: AT, message: 'm', added }));
  }
});
