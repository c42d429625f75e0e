import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { crc32c } from '../../../../../src/kafka/kafkajs/produce/crc32c.ts';

/** The definition: bit by bit. */
function bitByBit(bytes: Uint8Array): number {
  let checksum = 0xffffffff;
  for (const byte of bytes) {
    checksum ^= byte;
    for (let bit = 0; bit < 8; bit++) checksum = checksum & 1 ? (checksum >>> 1) ^ 0x82f63b78 : checksum >>> 1;
  }
  return (checksum ^ 0xffffffff) >>> 0;
}

test('the check value of CRC-32C', () => {
  assert.equal(crc32c(Buffer.from('123456789'), 0, 9), 0xe3069283);
});

test('any bytes at any position have the checksum of the definition', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(9), fc.nat(9), (bytes, before, after) => {
      const buffer = Buffer.concat([Buffer.alloc(before, 1), bytes, Buffer.alloc(after, 2)]);
      assert.equal(crc32c(buffer, before, before + bytes.length), bitByBit(bytes));
    }),
  );
});
