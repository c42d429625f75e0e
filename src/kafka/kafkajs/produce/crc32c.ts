/*
 * CRC-32C (Castagnoli) of a record batch, eight bytes at a step ("slicing by eight"): table k holds what a byte does to
 * the checksum when k more bytes follow it. kafkajs goes byte by byte and takes four times as long. `zlib.crc32` is
 * another polynomial.
 */

/** The polynomial, its bits reversed. */
const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

function createTables(): Int32Array[] {
  const first = new Int32Array(256).map((_, byte) => {
    let checksum = byte;
    for (let bit = 0; bit < 8; bit++) checksum = checksum & 1 ? (checksum >>> 1) ^ POLYNOMIAL : checksum >>> 1;
    return checksum;
  });
  const tables = [first];
  for (let slice = 1; slice < SLICES; slice++) {
    const before = tables[slice - 1] as Int32Array;
    tables.push(before.map((checksum) => (first[checksum & 255] as number) ^ (checksum >>> 8)));
  }
  return tables;
}

const [T0, T1, T2, T3, T4, T5, T6, T7] = createTables() as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

const NO_WORDS = new Int32Array(0);

/** The CRC-32C of the bytes from `start` to `end`, as an unsigned number. For little-endian machines, like Node's own. */
export function crc32c(bytes: Buffer, start: number, end: number): number {
  const aligned = Math.min(end, start + ((4 - ((bytes.byteOffset + start) & 3)) & 3));
  let checksum = byteByByte(-1, bytes, start, aligned);
  const pairs = (end - aligned) >> 3;
  // Too short for a step, the bytes may not even reach an aligned position.
  const words = pairs === 0 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + aligned, pairs * 2);
  for (let at = 0; at < words.length; at += 2) {
    const low = (words[at] as number) ^ checksum;
    const high = words[at + 1] as number;
    checksum =
      (T7[low & 255] as number) ^
      (T6[(low >>> 8) & 255] as number) ^
      (T5[(low >>> 16) & 255] as number) ^
      (T4[low >>> 24] as number) ^
      (T3[high & 255] as number) ^
      (T2[(high >>> 8) & 255] as number) ^
      (T1[(high >>> 16) & 255] as number) ^
      (T0[high >>> 24] as number);
  }
  checksum = byteByByte(checksum, bytes, aligned + pairs * 8, end);
  return (checksum ^ -1) >>> 0;
}

function byteByByte(before: number, bytes: Buffer, start: number, end: number): number {
  let checksum = before;
  for (let at = start; at < end; at++) {
    checksum = (T0[(checksum ^ (bytes[at] as number)) & 255] as number) ^ (checksum >>> 8);
  }
  return checksum;
}
