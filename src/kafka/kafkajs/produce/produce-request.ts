import { COMPRESSIONS } from './compression.ts';
import {
  BATCH_HEAD_BYTES,
  type BatchRecord,
  type RecordBatchWriter,
  roomForRecords,
  writeBatchHead,
} from './record-batch.ts';

/*
 * A Produce request (version 7) in one buffer. Free room for the frame comes first (see `framedInPlace`). The fields after
 * the frame, with their sizes in bytes:
 *
 *   transactional id · acks (2) · time-out (4) · topics [ name · partitions [ number (4) · length (4) · one batch ] ]
 *
 * First, all records are written to the buffer. Then each batch is packed (compressed) into another buffer. Last, the request
 * is put together from the front. Packed records are used only if they are shorter. Longer ones would overwrite the next batch.
 */

const ACKS_FROM_ALL = -1;

export interface PartitionRecords {
  readonly partition: number;
  readonly firstSequence: number;
  readonly records: readonly BatchRecord[];
}

export interface TopicRecords {
  readonly topic: string;
  readonly partitions: readonly PartitionRecords[];
}

export interface ProduceRequest {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly timeoutMs: number;
  readonly codec: number;
  readonly timestampMs: number;
  readonly topics: readonly TopicRecords[];
}

interface WrittenRecords {
  readonly start: number;
  readonly end: number;
  packed?: Buffer;
}

/** The caller gives the buffer back to the pool only after a response. After a failure, the socket may still read the buffer. */
export async function encodeProduceRequest(
  request: ProduceRequest,
  writer: RecordBatchWriter,
  pool: BufferPool,
): Promise<FramedRequest> {
  const buffer = pool.take(roomFor(request));
  const written = writeAllRecords(buffer, request, writer);
  const compress = COMPRESSIONS.get(request.codec);
  if (compress !== undefined) {
    for (const records of written) records.packed = await compress(buffer.subarray(records.start, records.end));
  }
  return new FramedRequest(buffer, putTogether(buffer, request, written));
}

function roomFor({ transactionalId, topics }: ProduceRequest): number {
  let bytes = FRAME_ROOM_BYTES + stringSize(transactionalId) + 10;
  for (const { topic, partitions } of topics) {
    bytes += stringSize(topic) + 4;
    for (const { records } of partitions) bytes += 8 + BATCH_HEAD_BYTES + roomForRecords(records);
  }
  return bytes;
}

function writeAllRecords(buffer: Buffer, request: ProduceRequest, writer: RecordBatchWriter): WrittenRecords[] {
  const written: WrittenRecords[] = [];
  let at = FRAME_ROOM_BYTES + stringSize(request.transactionalId) + 10;
  for (const { topic, partitions } of request.topics) {
    at += stringSize(topic) + 4;
    for (const { records } of partitions) {
      const start = at + 8 + BATCH_HEAD_BYTES;
      at = writer.writeRecords(buffer, start, records);
      written.push({ start, end: at });
    }
  }
  return written;
}

function putTogether(buffer: Buffer, request: ProduceRequest, written: readonly WrittenRecords[]): number {
  const batches = written.values();
  let at = writeString(buffer, FRAME_ROOM_BYTES, request.transactionalId);
  at = buffer.writeInt16BE(ACKS_FROM_ALL, at);
  at = buffer.writeInt32BE(request.timeoutMs, at);
  at = buffer.writeInt32BE(request.topics.length, at);
  for (const { topic, partitions } of request.topics) {
    at = writeString(buffer, at, topic);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const { partition, firstSequence, records } of partitions) {
      const start = buffer.writeInt32BE(partition, at) + 4;
      const found = batches.next().value as WrittenRecords;
      const codec = found.packed !== undefined && found.packed.length < found.end - found.start ? request.codec : 0;
      at = placeRecords(buffer, start + BATCH_HEAD_BYTES, found, codec !== 0);
      writeBatchHead(buffer, start, at, records.length, { ...request, codec, firstSequence });
      buffer.writeInt32BE(at - start, start - 4);
    }
  }
  return at;
}

function placeRecords(buffer: Buffer, target: number, { start, end, packed }: WrittenRecords, usePacked: boolean) {
  if (usePacked && packed) {
    buffer.set(packed, target);
    return target + packed.length;
  }
  if (target !== start) buffer.copyWithin(target, start, end);
  return target + end - start;
}

function stringSize(text: string): number {
  return 2 + Buffer.byteLength(text);
}

function writeString(buffer: Buffer, start: number, text: string): number {
  const bytes = buffer.write(text, start + 2);
  return buffer.writeInt16BE(bytes, start) + bytes;
}

const LARGEST_KEPT_BYTES = 8 * 1024 * 1024;
const SMALLEST_BYTES = 64 * 1024;
const MOST_KEPT = 2;

/** Keeps buffers, because new buffers for each page would cost a full garbage collection every one or two pages. */
export class BufferPool {
  readonly #kept: Buffer[] = [];

  take(bytes: number): Buffer {
    const index = this.#kept.findIndex(({ length }) => length >= bytes);
    const [kept] = index < 0 ? [] : this.#kept.splice(index, 1);
    return kept ?? Buffer.allocUnsafeSlow(roundUp(bytes));
  }

  /** The caller must not use the buffer after this call. */
  giveBack(buffer: Buffer): void {
    if (buffer.length > LARGEST_KEPT_BYTES) return;
    this.#kept.push(buffer);
    if (this.#kept.length <= MOST_KEPT) return;
    this.#kept.sort((a, b) => b.length - a.length).length = MOST_KEPT;
  }
}

function roundUp(bytes: number): number {
  let size = SMALLEST_BYTES;
  while (size < bytes) size *= 2;
  return size > LARGEST_KEPT_BYTES ? bytes : size;
}

/*
 * The frame of a request: length (4), API key (2), API version (2), correlation id (4), client id. kafkajs copies the
 * whole request twice to add the frame. Here the frame is written into the free room at the front of the buffer.
 */

const FIXED_BYTES = 14;
/** Enough for a client id of some hundred bytes. Exported for tests. */
export const FRAME_ROOM_BYTES = 512;

/** The body of a request. The body begins at `FRAME_ROOM_BYTES` of the buffer. Exported for tests. */
export class FramedRequest {
  readonly buffer: Buffer;
  readonly end: number;

  constructor(buffer: Buffer, end: number) {
    this.buffer = buffer;
    this.end = end;
  }
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

export type CreateRequest = (of: RequestToFrame) => Promise<{ readonly buffer: Buffer }>;

/** Replaces kafkajs' framing: a `FramedRequest` gets its frame without copies. */
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
