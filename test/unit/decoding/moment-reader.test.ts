import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseInstant } from '../../../src/avro/instant.ts';
import { readMicros } from '../../../src/decoding/moment-reader.ts';

test('an instant of up to seven fraction digits is read from its bytes as from its text', () => {
  const fractions = fc.oneof(
    fc.stringMatching(/^[0-9]{1,7}$/),
    fc.constantFrom('9999999', '9999995', '0000005', '0000015'),
  );
  fc.assert(
    fc.property(fractions, (fraction) => {
      const text = `2026-12-31T23:59:59.${fraction}Z`;
      const bytes = Buffer.from(text);
      const read = parseInstant(text, null);
      assert.ok(read !== null && read !== 'noZone');
      assert.equal(readMicros(bytes, 0, bytes.length), read.micros);
    }),
  );
});
