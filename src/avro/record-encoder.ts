import type avsc from 'avsc';
import type { AvroRecord } from './avro-value.ts';
import { avscType } from './avsc-type.ts';
import { WIRE_HEADER_BYTES, writeWireHeader } from './wire-format.ts';

const FIRST_BUFFER_BYTES = 64 * 1024;

/**
 * Encodes records in Confluent's wire format. One buffer is used for all, since avsc's own `toBuffer` encodes twice
 * every record longer than its 1 KiB; each value that is returned is a copy.
 */
export class RecordEncoder {
  readonly #type: avsc.Type;
  readonly #schemaId: number;
  #buffer: Buffer;

  constructor(schemaText: string, schemaId: number) {
    this.#type = avscType(schemaText);
    this.#schemaId = schemaId;
    this.#buffer = this.#newBuffer(FIRST_BUFFER_BYTES);
  }

  encode(record: AvroRecord): Buffer {
    for (;;) {
      const end = this.#type.encode(record, this.#buffer, WIRE_HEADER_BYTES);
      if (end >= 0) return Buffer.from(this.#buffer.subarray(0, end));
      // Below zero: the buffer is that many bytes too short.
      this.#buffer = this.#newBuffer(2 * (this.#buffer.length - end));
    }
  }

  #newBuffer(bytes: number): Buffer {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    writeWireHeader(buffer, this.#schemaId);
    return buffer;
  }
}
