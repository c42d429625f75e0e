import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { InstantReader, parseInstant } from '../../../../src/records/avro/instant.ts';

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
