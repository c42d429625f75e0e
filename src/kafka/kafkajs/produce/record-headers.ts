import { MAX_VARINT_BYTES, varintSize, writeVarint } from './varint.ts';

export type RecordHeaders = Readonly<Record<string, string>>;

const NONE: RecordHeaders = {};
const FIRST_ROOM_BYTES = 1_024;

/** UTF-8 takes at most this many bytes for one unit of a string. */
const MAX_BYTES_PER_UNIT = 3;

/** A number of bytes that is enough for these headers. */
export function roomForHeaders(headers: RecordHeaders = NONE): number {
  let bytes = MAX_VARINT_BYTES;
  for (const name of Object.keys(headers)) {
    bytes += 2 * MAX_VARINT_BYTES + (name.length + (headers[name] ?? '').length) * MAX_BYTES_PER_UNIT;
  }
  return bytes;
}

/**
 * The headers of one record after the other, encoded. The records of a page share one object, which is encoded once;
 * other headers have few names, whose bytes are kept.
 */
export class HeaderEncoder {
  #buffer = Buffer.allocUnsafeSlow(FIRST_ROOM_BYTES);
  #length = 0;
  #encoded: RecordHeaders | undefined;
  readonly #names = new Map<string, Buffer>();

  /** Encodes the headers and returns the number of their bytes. `copyTo` then gives them. */
  encode(headers: RecordHeaders = NONE): number {
    if (headers === this.#encoded) return this.#length;
    const names = Object.keys(headers);
    this.#encoded = undefined;
    this.#makeRoom(0, MAX_VARINT_BYTES);
    let at = writeVarint(this.#buffer, 0, names.length);
    for (const name of names) {
      const nameBytes = this.#nameBytes(name);
      const value = headers[name] ?? '';
      const valueBytes = Buffer.byteLength(value);
      this.#makeRoom(at, nameBytes.length + MAX_VARINT_BYTES + valueBytes);
      this.#buffer.set(nameBytes, at);
      at = writeVarint(this.#buffer, at + nameBytes.length, valueBytes);
      at += this.#buffer.write(value, at);
    }
    this.#length = at;
    this.#encoded = headers;
    return at;
  }

  /** Writes the headers last encoded at `start` and returns the position behind them. */
  copyTo(target: Buffer, start: number): number {
    this.#buffer.copy(target, start, 0, this.#length);
    return start + this.#length;
  }

  /** A name with its length in front. Our names are few and fixed; each is kept. */
  #nameBytes(name: string): Buffer {
    const kept = this.#names.get(name);
    if (kept) return kept;
    const bytes = Buffer.byteLength(name);
    const encoded = Buffer.alloc(varintSize(bytes) + bytes);
    encoded.write(name, writeVarint(encoded, 0, bytes));
    this.#names.set(name, encoded);
    return encoded;
  }

  #makeRoom(used: number, more: number): void {
    if (used + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow((used + more) * 2);
    this.#buffer.copy(larger, 0, 0, used);
    this.#buffer = larger;
  }
}
