import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageSeconds, headerField, retryAfterMs, serverDate } from '../../../src/http/header-fields.ts';

const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
const dateMs = Date.UTC(1994, 10, 6, 8, 49, 37);

test('the date of the server is read when it is well formed, and is null otherwise', () => {
  assert.equal(serverDate({ date }), dateMs);
  for (const wrong of [
    '',
    'now',
    '1994',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    '0',
    `${date}x`,
  ])
    assert.equal(serverDate({ date: wrong }), null, wrong);
  assert.equal(serverDate({ date: [date, date] }), null);
  assert.equal(serverDate({}), null);
});

test('without a Date, a date to retry at is measured by our clock', () => {
  const later = 'Sun, 06 Nov 1994 08:49:47 GMT';
  assert.equal(retryAfterMs({ 'retry-after': later }, dateMs), 10_000);
  assert.equal(retryAfterMs({ 'retry-after': later, date }, dateMs + 86_400_000), 10_000);
  assert.equal(retryAfterMs({ 'retry-after': '9'.repeat(400) }, 0), 3_600_000);
  assert.equal(retryAfterMs({ 'retry-after': '-1' }, 0), undefined);
});

test('of repeated fields all values count', () => {
  assert.equal(headerField({ a: ['gzip', 'br'] }, 'a'), 'gzip, br');
  assert.equal(ageSeconds({ age: ['0', '12'] }), 12);
  assert.equal(ageSeconds({ age: 'old' }), null);
});
