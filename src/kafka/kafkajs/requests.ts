import type { Broker } from './kafkajs-internals.ts';

/*
 * The flexible format of requests, which kafkajs does not have: a length is an unsigned varint and one more than it says, and
 * each structure ends with its tagged fields.
 */

export const NO_TAGGED_FIELDS = Buffer.of(0);
/** The count in front of a list. */
export function listOf(elements: number): Buffer {
  return unsignedVarint(elements + 1);
}

/** The count in front of one element. */
export const ONE = Buffer.of(2);

/** A request whose body is made of these parts; a text becomes one with its length. */
export function flexibleRequest(parts: readonly (string | Buffer)[]): FramedRequest {
  const body = parts.flatMap((part) => {
    if (typeof part !== 'string') return [part];
    const text = Buffer.from(part, 'utf8');
    return [unsignedVarint(text.length + 1), text];
  });
  const room = Buffer.alloc(FRAME_ROOM_BYTES);
  // The end of the frame in front.
  const buffer = Buffer.concat([room, NO_TAGGED_FIELDS, ...body]);
  return new FramedRequest(buffer, buffer.length);
}

/** Reads a response from its throttle time on. Every method throws a RangeError when it ends too early. */
export class FlexibleResponse {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.taggedFields();
    this.int32();
  }

  /** The number of elements of a list; 0 for null. */
  count(): number {
    return Math.max(0, this.#unsigned() - 1);
  }

  /** Empty for null. */
  text(): string {
    return this.bytes(this.count()).toString('utf8');
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  int64(): bigint {
    this.#at += 8;
    return this.#bytes.readBigInt64BE(this.#at - 8);
  }

  bytes(count: number): Buffer {
    this.#at += count;
    if (this.#at > this.#bytes.length) throw new RangeError('The response ends within a field');
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  taggedFields(): void {
    for (let fields = this.#unsigned(); fields > 0; fields--) {
      this.#unsigned();
      const bytes = this.#unsigned();
      this.#at += bytes;
    }
  }

  #unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}

function unsignedVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.of(...bytes, rest);
}

/*
 * The frame in front of every request: length (4), API key (2), API version (2), correlation id (4), client id. kafkajs
 * copies the whole request behind it, twice. Here the frame is written into the room in front of a request's buffer.
 */

const FIXED_BYTES = 14;
/** Enough for a client id of some hundred bytes. */
export const FRAME_ROOM_BYTES = 512;

/** The body of a request, which begins at `FRAME_ROOM_BYTES` of the buffer. */
export class FramedRequest {
  readonly buffer: Buffer;
  readonly end: number;

  constructor(buffer: Buffer, end: number) {
    this.buffer = buffer;
    this.end = end;
  }
}

interface Encoded {
  readonly buffer: Buffer;
}

interface RequestToFrame {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly encode: () => Promise<unknown>;
  };
}

export type CreateRequest = (of: RequestToFrame) => Promise<Encoded>;

/** kafkajs' framing of a request, without copies where the request has room in front. */
export function framedInPlace(original: CreateRequest): CreateRequest {
  return async function createRequest(of) {
    const payload = await of.request.encode();
    if (payload instanceof FramedRequest) return { buffer: frame(payload, of) };
    return original({ ...of, request: { ...of.request, encode: async () => payload } });
  };
}

function frame({ buffer, end }: FramedRequest, { correlationId, clientId, request }: RequestToFrame): Buffer {
  const idBytes = Buffer.byteLength(clientId);
  const start = FRAME_ROOM_BYTES - FIXED_BYTES - idBytes;
  if (start < 0) throw new Error(`The client id has ${idBytes} bytes, more than ${FRAME_ROOM_BYTES - FIXED_BYTES}`);
  buffer.writeInt32BE(end - start - 4, start);
  buffer.writeInt16BE(request.apiKey, start + 4);
  buffer.writeInt16BE(request.apiVersion, start + 6);
  buffer.writeInt32BE(correlationId, start + 8);
  buffer.writeInt16BE(idBytes, start + 12);
  buffer.write(clientId, start + FIXED_BYTES);
  return buffer.subarray(start, end);
}

/** Sends a request that kafkajs does not have. @throws what kafkajs throws, or what `decode` does. */
export async function askBroker<Found>(
  { connectionPool }: Pick<Broker, 'connectionPool'>,
  kind: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  encoded: FramedRequest,
  decode: (bytes: Buffer) => Found,
): Promise<Found> {
  const request = { ...kind, encode: async () => encoded };
  const response = {
    decode: async (payload: unknown) => decode(payload as Buffer),
    parse: async (decoded: unknown) => decoded,
  };
  return (await connectionPool.send({ request, response })) as Found;
}

interface DescribedTransaction {
  readonly errorCode: number;
  /** Such as Ongoing, PrepareCommit, CompleteCommit, CompleteAbort; empty with an error. */
  readonly state: string;
}

export function encodeDescribeTransactions(transactionalId: string): FramedRequest {
  return flexibleRequest([ONE, transactionalId, NO_TAGGED_FIELDS]);
}

/** @throws RangeError when the response ends too early. */
export function decodeDescribeTransactions(bytes: Buffer): DescribedTransaction {
  const response = new FlexibleResponse(bytes);
  if (response.count() !== 1) throw new RangeError('The response to DescribeTransactions is not about one id');
  const errorCode = response.int16();
  response.text();
  return { errorCode, state: response.text() };
}
