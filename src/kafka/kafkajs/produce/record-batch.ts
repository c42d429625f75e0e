import { crc32c } from './crc32c.ts';
import { HeaderEncoder, type RecordHeaders, roomForHeaders } from './record-headers.ts';
import { MAX_VARINT_BYTES, varintSize, writeVarint } from './varint.ts';

/*
 * A record batch (magic 2) as the broker stores it: a head of 61 bytes, then the records. kafkajs builds ten small buffers
 * per record and copies the batch seven times; here the records are written once, into the buffer that is sent.
 *
 *   offset  0 base offset (8)   8 length (4)  12 leader epoch (4)  16 magic (1)  17 CRC (4)  21 attributes (2)
 *          23 last offset delta (4)  27 first timestamp (8)  35 last timestamp (8)
 *          43 producer id (8)  51 producer epoch (2)  53 first sequence (4)  57 number of records (4)  61 records
 */

export const BATCH_HEAD_BYTES = 61;
const LENGTH_COUNTS_FROM = 12;
const CRC_AT = 17;
const CRC_COUNTS_FROM = 21;
const MAGIC = 2;
const TRANSACTIONAL = 16;
/** The most bytes of a record beyond key, value and headers: its length, those of key and value, its index, two zeroes. */
const RECORD_BYTES = 4 * MAX_VARINT_BYTES + 2;

export interface BatchRecord {
  readonly key: Buffer | null;
  /** Null is a tombstone. */
  readonly value: Buffer | null;
  readonly headers?: RecordHeaders;
}

/** The fields in the head of a batch that do not follow from its records. */
export interface BatchHead {
  /** Kafka's number of the codec of the records behind the head; 0 is uncompressed. */
  readonly codec: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  /** Of all records, milliseconds since the epoch. Topics with LogAppendTime replace it. */
  readonly timestampMs: number;
}

/** A number of bytes that is enough for the records of one batch, uncompressed and without its head. */
export function roomForRecords(records: readonly BatchRecord[]): number {
  let bytes = 0;
  let last: RecordHeaders | undefined;
  let headerBytes = 0;
  for (const { key, value, headers } of records) {
    if (headers !== last) {
      last = headers;
      headerBytes = roomForHeaders(headers);
    }
    bytes += RECORD_BYTES + (key?.length ?? 0) + (value?.length ?? 0) + headerBytes;
  }
  return bytes;
}

/** Writes batches. It remembers the last headers, which the records of a page share. */
export class RecordBatchWriter {
  readonly #headers = new HeaderEncoder();

  /**
   * Writes the records at `start` and returns where they end. The buffer has room for them (`roomForRecords`).
   * All records have the batch's timestamp.
   */
  writeRecords(buffer: Buffer, start: number, records: readonly BatchRecord[]): number {
    let at = start;
    for (const [index, { key, value, headers }] of records.entries()) {
      const headerBytes = this.#headers.encode(headers);
      at = writeVarint(buffer, at, 2 + varintSize(index) + sizeOf(key) + sizeOf(value) + headerBytes);
      buffer[at++] = 0; // attributes
      buffer[at++] = 0; // timestamp delta
      at = writeVarint(buffer, at, index);
      at = writeBytes(buffer, at, key);
      at = writeBytes(buffer, at, value);
      at = this.#headers.copyTo(buffer, at);
    }
    return at;
  }
}

/** Fills in the head at `start`, for `count` records behind it, compressed or not, up to `end`. */
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
  // A string has a length as well, and would silently become zeroes.
  if (!Buffer.isBuffer(bytes)) throw new TypeError(`Expected a Buffer for a key or value, got a ${typeof bytes}`);
  const at = writeVarint(buffer, start, bytes.length);
  buffer.set(bytes, at);
  return at + bytes.length;
}
