/* Kafka's signed varint for integers of 32 bits: zigzag, then seven bits per byte, the lowest bits first. */

const MAX_VARINT_BYTES = 5;

function varintSize(value: number): number {
  const rest = zigzag(value);
  if (rest < 0x80) return 1;
  if (rest < 0x4000) return 2;
  if (rest < 0x20_0000) return 3;
  return rest < 0x1000_0000 ? 4 : MAX_VARINT_BYTES;
}

function writeVarint(buffer: Buffer, start: number, value: number): number {
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

type RecordHeaders = Readonly<Record<string, string>>;

const NONE: RecordHeaders = {};

function encodeHeaders(headers: RecordHeaders): Buffer {
  const texts = Object.entries(headers).flat();
  const buffer = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + MAX_VARINT_BYTES + Buffer.byteLength(text), 10));
  let at = writeVarint(buffer, 0, texts.length / 2);
  for (const text of texts) {
    at = writeVarint(buffer, at, Buffer.byteLength(text));
    at += buffer.write(text, at);
  }
  return buffer.subarray(0, at);
}

/** Encodes headers. The records of a page share one headers object, which is encoded once. */
class HeaderEncoder {
  #headers = NONE;
  #encoded = encodeHeaders(NONE);

  encode(headers = NONE): Buffer {
    if (headers !== this.#headers) {
      this.#encoded = encodeHeaders(headers);
      this.#headers = headers;
    }
    return this.#encoded;
  }
}

/*
 * A record batch (magic 2). kafkajs builds ten small buffers per record and copies the batch seven times. Here the
 * records are written once, into the buffer that is sent. The position, name and size in bytes of each field:
 *
 *           0 base offset (8)   8 length (4)  12 leader epoch (4)  16 magic (1)  17 CRC (4)  21 attributes (2)
 *          23 last offset delta (4)  27 first timestamp (8)  35 last timestamp (8)
 *          43 producer id (8)  51 producer epoch (2)  53 first sequence (4)  57 number of records (4)  61 records
 */

export const BATCH_HEAD_BYTES = 61;
const LENGTH_COUNTS_FROM = 12;
const CRC_AT = 17;
const CRC_COUNTS_FROM = 21;
const MAGIC = 2;
const TRANSACTIONAL = 16;
/**
 * The maximum size of a record without key, value and headers. Four varints: the length of the record, its index, and
 * the lengths of key and value. Two zero bytes: the attributes and the timestamp delta.
 */
const RECORD_BYTES = 4 * MAX_VARINT_BYTES + 2;

export interface BatchRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: RecordHeaders;
}

interface BatchHead {
  readonly codec: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  /** The time of all records, ms since the epoch. In topics with LogAppendTime, the broker replaces this time. */
  readonly timestampMs: number;
}

export function roomForRecords(records: readonly BatchRecord[]): number {
  const encoder = new HeaderEncoder();
  let bytes = 0;
  for (const { key, value, headers } of records) {
    bytes += RECORD_BYTES + (key?.length ?? 0) + (value?.length ?? 0) + encoder.encode(headers).length;
  }
  return bytes;
}

export class RecordBatchWriter {
  readonly #headers = new HeaderEncoder();

  /** Needs a buffer with enough room (`roomForRecords`). Returns the end position. */
  writeRecords(buffer: Buffer, start: number, records: readonly BatchRecord[]): number {
    let at = start;
    for (const [index, { key, value, headers }] of records.entries()) {
      const encoded = this.#headers.encode(headers);
      at = writeVarint(buffer, at, 2 + varintSize(index) + sizeOf(key) + sizeOf(value) + encoded.length);
      buffer[at++] = 0; // attributes
      buffer[at++] = 0; // timestamp delta
      at = writeVarint(buffer, at, index);
      at = writeBytes(buffer, at, key);
      at = writeBytes(buffer, at, value);
      buffer.set(encoded, at);
      at += encoded.length;
    }
    return at;
  }
}

/** Writes the head of a batch. Its records are already written, perhaps compressed. `count`: their number. `end`: their end. */
export function writeBatchHead(buffer: Buffer, start: number, end: number, count: number, head: BatchHead): void {
  const timestamp = BigInt(head.timestampMs);
  buffer.writeBigInt64BE(0n, start);
  buffer.writeInt32BE(end - start - LENGTH_COUNTS_FROM, start + 8);
  buffer.writeInt32BE(0, start + 12);
  buffer[start + 16] = MAGIC;
  buffer.writeInt16BE(head.codec | TRANSACTIONAL, start + 21);
  buffer.writeInt32BE(count - 1, start + 23);
  buffer.writeBigInt64BE(timestamp, start + 27);
  buffer.writeBigInt64BE(timestamp, start + 35);
  buffer.writeBigInt64BE(head.producerId, start + 43);
  buffer.writeInt16BE(head.producerEpoch, start + 51);
  buffer.writeInt32BE(head.firstSequence, start + 53);
  buffer.writeInt32BE(count, start + 57);
  buffer.writeUInt32BE(crc32c(buffer, start + CRC_COUNTS_FROM, end), start + CRC_AT);
}

function sizeOf(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length;
}

function writeBytes(buffer: Buffer, start: number, bytes: Buffer | null): number {
  if (bytes === null) return writeVarint(buffer, start, -1);
  // Without this check, a string would silently become zeroes, because a string has a length too.
  if (!Buffer.isBuffer(bytes)) throw new TypeError(`Expected a Buffer for a key or value, got a ${typeof bytes}`);
  const at = writeVarint(buffer, start, bytes.length);
  buffer.set(bytes, at);
  return at + bytes.length;
}

/*
 * CRC-32C (Castagnoli), eight bytes per step ("slicing by eight"). Table k has, for each byte, its part of the checksum
 * when k bytes follow. kafkajs' own CRC takes four times as long. `zlib.crc32` has another polynomial.
 */

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

const TABLES = new Int32Array(SLICES * 256);
for (let entry = 0; entry < TABLES.length; entry++) {
  const before = entry < 256 ? entry : (TABLES[entry - 256] as number);
  let checksum = before;
  if (entry < 256) for (let bit = 0; bit < 8; bit++) checksum = (checksum >>> 1) ^ (checksum & 1 ? POLYNOMIAL : 0);
  else checksum = (TABLES[before & 255] as number) ^ (before >>> 8);
  TABLES[entry] = checksum;
}

function entryOf(slice: number, byte: number): number {
  return TABLES[(slice << 8) | (byte & 255)] as number;
}

const NO_WORDS = new Int32Array(0);

/** Works only on little-endian machines. */
function crc32c(bytes: Buffer, start: number, end: number): number {
  const aligned = Math.min(end, start + ((4 - ((bytes.byteOffset + start) & 3)) & 3));
  let checksum = byteByByte(-1, bytes, start, aligned);
  const pairs = (end - aligned) >> 3;
  const words = pairs === 0 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + aligned, pairs * 2);
  for (let at = 0; at < words.length; at += 2) {
    const low = (words[at] as number) ^ checksum;
    const high = words[at + 1] as number;
    checksum =
      entryOf(7, low) ^
      entryOf(6, low >>> 8) ^
      entryOf(5, low >>> 16) ^
      entryOf(4, low >>> 24) ^
      entryOf(3, high) ^
      entryOf(2, high >>> 8) ^
      entryOf(1, high >>> 16) ^
      entryOf(0, high >>> 24);
  }
  checksum = byteByByte(checksum, bytes, aligned + pairs * 8, end);
  return (checksum ^ -1) >>> 0;
}

function byteByByte(before: number, bytes: Buffer, start: number, end: number): number {
  let checksum = before;
  for (let at = start; at < end; at++) {
    checksum = entryOf(0, checksum ^ (bytes[at] as number)) ^ (checksum >>> 8);
  }
  return checksum;
}
