/*
 * Kafka's signed varint: zigzag (0, -1, 1, -2 … become 0, 1, 2, 3 …), then seven bits a byte, the lowest first, with the
 * high bit set on all but the last. For whole numbers of 32 bits.
 */

export const MAX_VARINT_BYTES = 5;

export function varintSize(value: number): number {
  const rest = zigzag(value);
  if (rest < 0x80) return 1;
  if (rest < 0x4000) return 2;
  if (rest < 0x20_0000) return 3;
  return rest < 0x1000_0000 ? 4 : MAX_VARINT_BYTES;
}

/** Writes the value at `start` and returns the position behind it. */
export function writeVarint(buffer: Buffer, start: number, value: number): number {
  let rest = zigzag(value);
  let at = start;
  while (rest >= 0x80) {
    buffer[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[at++] = rest;
  return at;
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}
