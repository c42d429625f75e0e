/** Writes Kafka's primitive types one after the other. */
export interface WireWriter {
  int8(value: number): WireWriter;
  int16(value: number): WireWriter;
  int32(value: number): WireWriter;
  int64(value: bigint): WireWriter;
  string(value: string): WireWriter;
  /** What was written, with its 4-byte length before it. */
  frame(): Buffer;
}

/** Reads Kafka's primitive types one after the other. */
export interface WireReader {
  int16(): number;
  int32(): number;
  int64(): bigint;
  /** A zigzag varint, up to 53 bits. */
  varint(): number;
  string(): string;
  /** Varint length and text; null for a negative length. */
  varintText(): string | null;
  bytes(length: number): Buffer;
  skip(length: number): void;
}

export function createWireWriter(): WireWriter {
  const parts: Buffer[] = [];
  function put(length: number, write: (buffer: Buffer) => void): WireWriter {
    const buffer = Buffer.alloc(length);
    write(buffer);
    parts.push(buffer);
    return writer;
  }
  const writer: WireWriter = {
    int8: (value) => put(1, (buffer) => buffer.writeInt8(value)),
    int16: (value) => put(2, (buffer) => buffer.writeInt16BE(value)),
    int32: (value) => put(4, (buffer) => buffer.writeInt32BE(value)),
    int64: (value) => put(8, (buffer) => buffer.writeBigInt64BE(value)),
    string(value) {
      const text = Buffer.from(value);
      writer.int16(text.length);
      parts.push(text);
      return writer;
    },
    frame() {
      const body = Buffer.concat(parts);
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length);
      return Buffer.concat([length, body]);
    },
  };
  return writer;
}

export function createWireReader(buffer: Buffer): WireReader {
  let position = 0;
  function step(length: number): number {
    const start = position;
    position += length;
    return start;
  }
  const reader: WireReader = {
    int16: () => buffer.readInt16BE(step(2)),
    int32: () => buffer.readInt32BE(step(4)),
    int64: () => buffer.readBigInt64BE(step(8)),
    varint() {
      let value = 0n;
      for (let shift = 0n; shift < 64n; shift += 7n) {
        const byte = buffer.readUInt8(step(1));
        value |= BigInt(byte & 0x7f) << shift;
        if ((byte & 0x80) === 0) break;
      }
      return Number((value >> 1n) ^ -(value & 1n));
    },
    string: () => reader.bytes(reader.int16()).toString(),
    varintText() {
      const length = reader.varint();
      return length < 0 ? null : reader.bytes(length).toString();
    },
    bytes(length) {
      const start = step(length);
      return buffer.subarray(start, start + length);
    },
    skip: (length) => void step(length),
  };
  return reader;
}
