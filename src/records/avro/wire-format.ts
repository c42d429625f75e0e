import { ConnectorError } from '../../errors.ts';

/** Confluent's wire format begins with a zero byte and the schema id as four big-endian bytes; the body follows. */
export const WIRE_HEADER_BYTES = 5;

const MAGIC = 0;

export function writeWireHeader(buffer: Buffer, schemaId: number): void {
  buffer.writeUInt8(MAGIC, 0);
  buffer.writeInt32BE(schemaId, 1);
}

/** @throws ConnectorError RECORD_UNREADABLE for a value that is not in the wire format. */
export function readWireValue(value: Buffer): { readonly schemaId: number; readonly body: Buffer } {
  if (value.length < WIRE_HEADER_BYTES || value[0] !== MAGIC) {
    throw new ConnectorError(
      'RECORD_UNREADABLE',
      `A value of ${value.length} bytes does not begin with the header of Confluent's wire format.`,
    );
  }
  return { schemaId: value.readInt32BE(1), body: value.subarray(WIRE_HEADER_BYTES) };
}
