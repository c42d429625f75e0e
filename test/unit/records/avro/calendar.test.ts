import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dateText, epochDays, localDateTimeText, localEpochMs } from '../../../../src/records/avro/instant.ts';

const DAY_MS = 86_400_000;

test('every day of eight centuries has its number and its text', () => {
  for (let days = -200_000; days < 100_000; days++) {
    const text = new Date(days * DAY_MS).toISOString().slice(0, 10);
    assert.equal(epochDays(text), days, text);
    assert.equal(dateText(days), text);
  }
});

const NO_DATES = [
  '',
  '2024-1-01',
  '2024-01-1',
  '24-01-01',
  '2024/01/01',
  '2024-01-01 ',
  ' 2024-01-01',
  '2024-01-01T00:00:00',
  '20240101',
  '0000-01-01',
  '2024-00-10',
  '2024-13-01',
  '2024-01-00',
  '2024-01-32',
  '2024-04-31',
  '2023-02-29',
  '1900-02-29',
  '2100-02-29',
  '2024-02-30',
  '+024-01-01',
  '2024-0a-01',
  '٢٠٢٤-٠١-٠١',
  '-024-01-01',
];

test('what is no date of the calendar, in this form, is none', () => {
  for (const text of NO_DATES) assert.equal(epochDays(text), null, text);
  assert.notEqual(epochDays('2024-02-29'), null);
  assert.notEqual(epochDays('2000-02-29'), null);
});

test('a date-time without a zone is the same moment of the clock, whatever the zone of the machine', () => {
  for (const text of ['1970-01-01 00:00:00', '2025-03-30 02:30:00', '2024-02-29 23:59:59', '1969-12-31 23:59:59']) {
    const epochMs = localEpochMs(text);
    assert.equal(epochMs, Date.parse(`${text.replace(' ', 'T')}Z`), text);
    assert.equal(localDateTimeText(epochMs ?? Number.NaN), text);
  }
  assert.equal(localDateTimeText(1), '1970-01-01 00:00:00.001');
});

const NO_DATE_TIMES = [
  '2024-01-01',
  '2024-01-01T10:00:00',
  '2024-01-01 10:00',
  '2024-01-01 10:00:00Z',
  '2024-01-01 10:00:00.000',
  '2024-01-01 24:00:00',
  '2024-01-01 10:60:00',
  '2024-01-01 23:59:60',
  '2023-02-29 10:00:00',
  '2024-01-01  9:00:00',
  '2024-01-01 10-00:00',
  '2024-01-01 10:00-00',
  '2024-01-01 -1:00:00',
];

test('what is no date-time, in this form, is none', () => {
  for (const text of NO_DATE_TIMES) assert.equal(localEpochMs(text), null, text);
});
