import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  createAssumedZone,
  dateText,
  epochDays,
  InstantReader,
  instantText,
  localDateTimeText,
  localEpochMs,
  parseInstant,
} from '../../../../src/records/avro/instant.ts';

function read(text: string, zone: string | null = null) {
  const instant = parseInstant(text, zone === null ? null : createAssumedZone(zone));
  if (instant === null || instant === 'noZone') return instant;
  return `${instantText(instant.micros)}${instant.rounded ? ' rounded' : ''}`;
}

const INSTANTS: Readonly<Record<string, string>> = {
  '2026-01-07T12:00:00Z': '2026-01-07T12:00:00Z',
  '2026-01-07t12:00:00z': '2026-01-07T12:00:00Z',
  '2026-01-07T12:00:00.5Z': '2026-01-07T12:00:00.5Z',
  '2026-01-07T12:00:00,25Z': '2026-01-07T12:00:00.25Z',
  '2026-01-07T12:00:00.1234560000Z': '2026-01-07T12:00:00.123456Z',
  '2026-01-07T12:00:00+01:00': '2026-01-07T11:00:00Z',
  '2026-01-07T12:00:00.5-0330': '2026-01-07T15:30:00.5Z',
  '2026-01-07T00:30:00+01': '2026-01-06T23:30:00Z',
  '2024-02-29T23:59:59-00:00': '2024-02-29T23:59:59Z',
  '1969-12-31T23:59:59.999999Z': '1969-12-31T23:59:59.999999Z',
  '0001-01-01T00:00:00+00:00': '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z': '9999-12-31T23:59:59.999999Z',
  // The other forms of ISO 8601.
  '2026-01-07T12:00Z': '2026-01-07T12:00:00Z',
  '2026-01-07T12Z': '2026-01-07T12:00:00Z',
  '2026-01-07T12:00+01:00': '2026-01-07T11:00:00Z',
  '2026-01-07T12:00.5Z': '2026-01-07T12:00:30Z',
  '2026-01-07T12,25Z': '2026-01-07T12:15:00Z',
  '20260107T120000Z': '2026-01-07T12:00:00Z',
  '20260107T120000.1234560+0100': '2026-01-07T11:00:00.123456Z',
  '20260107T1200Z': '2026-01-07T12:00:00Z',
  '2026-007T12:00:00Z': '2026-01-07T12:00:00Z',
  '2024366T12:00:00Z': '2024-12-31T12:00:00Z',
  '2026-W02-3T12:00:00Z': '2026-01-07T12:00:00Z',
  '2026W023T120000Z': '2026-01-07T12:00:00Z',
  '2020-W53-7T12:00Z': '2021-01-03T12:00:00Z',
  '2026-W01-1T12:00Z': '2025-12-29T12:00:00Z',
  // A leap second is the first one of the next minute, as in Unix time.
  '2016-12-31T23:59:60Z': '2017-01-01T00:00:00Z',
  '2017-01-01T00:59:60.5+01:00': '2017-01-01T00:00:00.5Z',
  // The midnight that ends the day.
  '2026-01-07T24:00:00Z': '2026-01-08T00:00:00Z',
  '2026-02-28T24:00:00.000+01:00': '2026-02-28T23:00:00Z',
  '2026-12-31T24:00Z': '2027-01-01T00:00:00Z',
};
for (const [sent, expected] of Object.entries(INSTANTS)) {
  test(`${sent} is exactly ${expected}`, () => assert.equal(read(sent), expected));
}

test('digits finer than a microsecond are rounded half to even, and that is reported', () => {
  const fraction = (digits: string) => read(`2026-01-07T12:00:00.${digits}Z`)?.slice(19);
  assert.equal(fraction('1234567'), '.123457Z rounded');
  assert.equal(fraction('1234565'), '.123456Z rounded');
  assert.equal(fraction('1234575'), '.123458Z rounded');
  assert.equal(fraction('12345650001'), '.123457Z rounded');
  assert.equal(fraction('123456400000000'), '.123456Z rounded');
  assert.equal(fraction('000000001'), 'Z rounded');
  assert.equal(read('2026-12-31T23:59:59.9999999Z'), '2027-01-01T00:00:00Z rounded');
  assert.equal(read('1969-12-31T23:59:59.9999999Z'), '1970-01-01T00:00:00Z rounded');
});

test('an instant is no safe integer only far away, and exact there too', () => {
  const micros = (text: string) => (parseInstant(text, null) as { micros: number | bigint }).micros;
  assert.equal(micros('2026-01-07T12:00:00.000001Z'), 1_767_787_200_000_001);
  assert.equal(micros('9999-12-31T23:59:59.999999Z'), 253_402_300_799_999_999n);
  assert.equal(micros('0001-01-01T00:00:00.000001Z'), -62_135_596_799_999_999n);
});

test('an instant without a zone is none, unless a zone is assumed', () => {
  assert.equal(read('2026-01-07T12:00:00'), 'noZone');
  assert.equal(read('2026-01-07T12:00:00.25'), 'noZone');
  assert.equal(read('2026-01-07T12:00:00.25', 'UTC'), '2026-01-07T12:00:00.25Z');
  assert.equal(read('2026-01-07T12:00:00', 'Europe/Zurich'), '2026-01-07T11:00:00Z');
  assert.equal(read('2026-07-07T12:00:00', 'Europe/Zurich'), '2026-07-07T10:00:00Z');
  assert.equal(read('2026-07-07T12:00:00-01:00', 'Europe/Zurich'), '2026-07-07T13:00:00Z');
  assert.equal(read('2026-01-07T12:00:00', 'Asia/Kathmandu'), '2026-01-07T06:15:00Z');
});

test('where clocks change, the first of two hours is meant, and a time that they leap over is counted from before', () => {
  const zurich = (text: string) => read(text, 'Europe/Zurich');
  assert.equal(zurich('2026-03-29T01:59:59'), '2026-03-29T00:59:59Z');
  assert.equal(zurich('2026-03-29T02:30:00'), '2026-03-29T01:30:00Z');
  assert.equal(zurich('2026-03-29T03:00:00'), '2026-03-29T01:00:00Z');
  assert.equal(zurich('2026-10-25T01:59:59'), '2026-10-24T23:59:59Z');
  assert.equal(zurich('2026-10-25T02:30:00'), '2026-10-25T00:30:00Z');
  assert.equal(zurich('2026-10-25T03:00:00'), '2026-10-25T02:00:00Z');
  assert.equal(read('2026-11-01T01:30:00', 'America/New_York'), '2026-11-01T05:30:00Z');
});

const OTHERS = {
  'of another form': ['', '2026-01-07', '2026-01-07 12:00:00Z', '2026-01-07T12:00:00 Z', '+2026-01-07T12:00:00Z'],
  'of two forms': ['2026-0107T12:00:00Z', '2026-01-07T12:00:00ZZ'],
  'at no time of the day': ['2026-01-07T25:00:00Z', '2026-01-07T12:60:00Z', '2026-01-07T12:00:61Z'],
  'behind midnight': ['2026-01-07T24:00:01Z', '2026-01-07T24:00:00.5Z'],
  'on no day of the year': ['2026-02-30T12:00:00Z', '20260230T120000Z', '2026-366T12:00Z', '2026-000T12:00Z'],
  'in no week of the year': ['2026-W00-1T12:00Z', '2025-W53-1T12:00Z', '2026-W01-8T12:00Z'],
  'with a fraction that is none, or too long': ['.', `.${'1'.repeat(60)}`].map((part) => `2026-01-07T12:00:00${part}Z`),
  'with an offset of another form': ['+1:00', '+01:0', '+01:000'].map((offset) => `2026-01-07T12:00:00${offset}`),
  'with an offset of no zone': ['+24:00', '+01:60'].map((offset) => `2026-01-07T12:00:00${offset}`),
  'before the first year or behind the last': ['0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'],
  'rounded beyond the last year': ['9999-12-31T23:59:59.9999999Z'],
};
for (const [what, texts] of Object.entries(OTHERS)) {
  test(`an instant ${what} is none`, () => {
    for (const text of texts) assert.equal(read(text), null, text);
  });
}

const DAY_MS = 86_400_000;

test('every day of eight centuries has its number and its text', () => {
  for (let days = -200_000; days < 100_000; days++) {
    const text = new Date(days * DAY_MS).toISOString().slice(0, 10);
    assert.equal(epochDays(text), days, text);
    assert.equal(dateText(days), text);
  }
});

const NO_DATES = [
  ['', '2024-1-01', '2024-01-1', '24-01-01', '2024/01/01', '20240101', '+024-01-01', '-024-01-01'],
  ['2024-01-01 ', ' 2024-01-01', '2024-01-01T00:00:00', '2024-0a-01', '٢٠٢٤-٠١-٠١'],
  ['0000-01-01', '2024-00-10', '2024-13-01', '2024-01-00', '2024-01-32', '2024-04-31'],
  ['2023-02-29', '1900-02-29', '2100-02-29', '2024-02-30'],
].flat();

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
  ['2024-01-01', '2024-01-01T10:00:00', '2024-01-01 10:00', '2024-01-01 10:00:00Z', '2024-01-01 10:00:00.000'],
  ['2024-01-01  9:00:00', '2024-01-01 10-00:00', '2024-01-01 10:00-00', '2024-01-01 -1:00:00'],
  ['2024-01-01 24:00:00', '2024-01-01 10:60:00', '2024-01-01 23:59:60', '2023-02-29 10:00:00'],
].flat();

test('what is no date-time, in this form, is none', () => {
  for (const text of NO_DATE_TIMES) assert.equal(localEpochMs(text), null, text);
});

const fractions = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^\.[0-9]{1,12}$/),
  fc.stringMatching(/^\.[0-9]{5}[05]50{0,30}[01]?$/),
  fc.constantFrom('.9999999', '.9999995', '.0000005', '.0000015', '.', ',5', '.5x'),
);
const zones = fc.oneof(
  fc.constantFrom('Z', '+01:00', '-03:30', '+00:00', '-00:00', '+23:59', 'z', '+24:00', '+01:60', '+0100', '+01', ''),
  fc.constantFrom('+01:00Z', ' +01:00', '+1:00', '*01:00', '+01-00', '+0a:00', 'ZZ'),
);
const days = fc.oneof(
  // Neighbours, since the day of the instant before is remembered.
  fc.constantFrom('2026-12-31', '2026-12-30', '2026-12-32', '2026-11-30', '2027-11-30'),
  fc.constantFrom('1970-01-01', '1969-12-31', '2024-02-29', '2026-02-29', '0001-01-01', '9999-12-31'),
);
const times = fc.constantFrom('23:59:59', '00:00:00', '24:00:00', '12:60:00');

test('an instant is read from its bytes as from its text, with its fraction and its offset, or left to the reader of text', () => {
  const reader = new InstantReader();
  let taken = 0;
  fc.assert(
    fc.property(days, times, fractions, zones, (day, time, fraction, zone) => {
      const text = `${day}T${time}${fraction}${zone}`;
      const bytes = Buffer.from(`"${text}"`);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const micros = reader.micros({ bytes, view }, 1, 1 + text.length);
      if (Number.isNaN(micros)) return;
      const read = parseInstant(text, null);
      if (read === 'noZone') assert.fail('an instant without a zone was taken');
      // Beyond 2^51 the writer asks the reader of text.
      if (Math.abs(micros) >= 2 ** 51) return;
      taken += 1;
      assert.deepEqual({ micros, rounded: reader.rounded }, read);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(taken > 100, `${taken}`);
});
