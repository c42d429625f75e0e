// The buffer that records are written to; finished records are views of it. Before a record begins there is room for its
// greatest possible size, so that no single write checks whether it fits.
import { WIRE_HEADER_BYTES, writeWireHeader } from '../avro/wire-format.ts';
import { copyBytes } from './text-writer.ts';

/** How many bytes behind a string a word that is written as a whole may overwrite. */
const SPARE_BYTES = 64;

export class Slab {
  out: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Where the next record begins. */
  used = 0;
  readonly #bytes: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Makes sure that a record of so many bytes fits; gives where its fields begin. */
  makeRoom(recordBytes: number): number {
    const bytes = WIRE_HEADER_BYTES + recordBytes + SPARE_BYTES;
    if (this.used + bytes > this.out.length) {
      this.out = Buffer.allocUnsafeSlow(Math.max(bytes, this.#bytes));
      this.view = new DataView(this.out.buffer, this.out.byteOffset, this.out.byteLength);
      this.used = 0;
    }
    return this.used + WIRE_HEADER_BYTES;
  }

  /** The record whose fields end at a position, with its header, and more bytes behind it. */
  take(end: number, schemaId: number, tail: Uint8Array): Buffer {
    const last = end + tail.length;
    if (last > this.out.length) throw new Error('A record is longer than it can be.');
    copyBytes(tail, tail.length, this.out, end);
    const record = this.out.subarray(this.used, last);
    writeWireHeader(record, schemaId);
    this.used = last;
    return record;
  }
}
