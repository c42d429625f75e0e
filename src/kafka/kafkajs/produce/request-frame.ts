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
