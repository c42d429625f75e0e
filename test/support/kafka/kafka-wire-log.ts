import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { API_KEYS, createFrameSplitter } from './kafka-wire.ts';
import { createWireReader, createWireWriter, type WireReader } from './kafka-wire-primitives.ts';

/**
 * The tests' own look at a partition, with no Kafka client in between: what the broker stores, batch by batch, and what
 * of it a read_committed reader must see. It is the oracle for clients that get this wrong.
 */
export interface StoredRecord {
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
}

export interface StoredBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly bytes: number;
  readonly producerId: bigint;
  readonly transactional: boolean;
  readonly control: boolean;
  /** The records; for a control batch none. */
  readonly records: readonly StoredRecord[];
  /** As the batch's header says: 0 is what compaction leaves of a producer's last batch. */
  readonly recordCount: number;
}

export interface PartitionView {
  readonly logStartOffset: number;
  readonly highWatermark: number;
  /** Behind it stands an open transaction; equal to the high watermark when none is open. */
  readonly lastStableOffset: number;
  readonly batches: readonly StoredBatch[];
  /** What a read_committed reader must see, in order. */
  readonly committed: readonly StoredRecord[];
}

interface FetchedPart extends Omit<PartitionView, 'committed'> {
  readonly aborted: { readonly producerId: bigint; readonly firstOffset: number }[];
}

const FETCH_VERSION = 5;
const FETCH_BYTES = 8_388_608;
const MAXIMUM_FETCHES = 1_000;
const DEADLINE_MS = 10_000;

/**
 * What a broker answers for a partition that it is about to lead: after a start, and for a topic just made, it reports
 * itself as the leader before it serves each partition. Every client asks again then.
 */
const NOT_YET_SERVED = new Set([3, 5, 6, 9, 78]);
const NOT_YET_SERVED_LIMIT_MS = 300_000;
const ASK_AGAIN_MS = 25;

export interface PartitionAddress {
  /** `host:port` of the broker that leads the partition. */
  readonly broker: string;
  readonly topic: string;
  readonly partition: number;
  /** Where to begin; needed only when the beginning has been deleted. */
  readonly from?: number;
}

/** Reads a partition from its beginning up to its last stable offset. */
export async function viewPartition(address: PartitionAddress): Promise<PartitionView> {
  const batches: StoredBatch[] = [];
  const committed: StoredRecord[] = [];
  let offset = address.from ?? 0;
  for (let fetches = 0; fetches < MAXIMUM_FETCHES; fetches += 1) {
    const part = await fetchPart(address, offset);
    // The broker answers with whole batches: the first may begin before the offset asked for.
    const fresh = part.batches.filter((batch) => batch.lastOffset >= offset);
    batches.push(...fresh);
    committed.push(...committedRecords(fresh, part.aborted).filter((record) => record.offset >= offset));
    const last = fresh.at(-1);
    if (last === undefined || last.lastOffset + 1 >= part.lastStableOffset) return { ...part, batches, committed };
    offset = last.lastOffset + 1;
  }
  throw new Error(`${address.topic}/${address.partition} has no end after ${MAXIMUM_FETCHES} fetches.`);
}

/** The rule of KIP-98: every aborted transaction begun by now counts, and only control batches end one. */
function committedRecords(batches: readonly StoredBatch[], aborted: FetchedPart['aborted']): StoredRecord[] {
  const waiting = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  const ignored = new Set<bigint>();
  return batches.flatMap((batch) => {
    while (waiting[0] !== undefined && waiting[0].firstOffset <= batch.lastOffset) {
      ignored.add(waiting[0].producerId);
      waiting.shift();
    }
    if (batch.control) ignored.delete(batch.producerId);
    return batch.control || (batch.transactional && ignored.has(batch.producerId)) ? [] : batch.records;
  });
}

async function fetchPart(address: PartitionAddress, offset: number): Promise<FetchedPart> {
  const deadline = performance.now() + NOT_YET_SERVED_LIMIT_MS;
  for (;;) {
    const answer = await fetchOnce(address, offset);
    if (typeof answer !== 'number') return answer;
    if (!NOT_YET_SERVED.has(answer) || performance.now() > deadline) {
      throw new Error(`Fetch of ${address.topic}/${address.partition} from ${offset}: error ${answer}.`);
    }
    await sleep(ASK_AGAIN_MS);
  }
}

/** The answer, or the number of the error in it. */
async function fetchOnce(address: PartitionAddress, offset: number): Promise<FetchedPart | number> {
  const request = createWireWriter()
    .int16(API_KEYS.Fetch)
    .int16(FETCH_VERSION)
    .int32(1)
    .string('oracle')
    .int32(-1) // replica
    .int32(100) // the longest wait, in milliseconds
    .int32(0)
    .int32(FETCH_BYTES)
    .int8(1) // read_committed
    .int32(1)
    .string(address.topic)
    .int32(1)
    .int32(address.partition)
    .int64(BigInt(offset))
    .int64(-1n) // log start offset, of followers only
    .int32(FETCH_BYTES)
    .frame();
  const answer = createWireReader(await exchange(address.broker, request));
  answer.skip(4 + 4 + 4); // correlation id, throttle time, count of topics
  answer.string();
  answer.skip(4 + 4); // count of partitions, partition
  const error = answer.int16();
  if (error !== 0) return error;
  const highWatermark = Number(answer.int64());
  const lastStableOffset = Number(answer.int64());
  const logStartOffset = Number(answer.int64());
  const aborted = Array.from({ length: Math.max(0, answer.int32()) }, () => ({
    producerId: answer.int64(),
    firstOffset: Number(answer.int64()),
  }));
  return {
    highWatermark,
    lastStableOffset,
    logStartOffset,
    aborted,
    batches: readBatches(answer.bytes(answer.int32())),
  };
}

/** One request on a connection of its own. */
export function exchange(broker: string, request: Buffer): Promise<Buffer> {
  const [host = '', port = ''] = broker.split(':');
  return new Promise((resolve, reject) => {
    const split = createFrameSplitter();
    const socket = connect({ host, port: Number(port) }, () => socket.write(request));
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error(`No answer within ${DEADLINE_MS} ms.`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The broker hung up.')));
    socket.on('data', (chunk) => {
      const [frame] = split(chunk);
      if (frame === undefined) return;
      resolve(frame.subarray(4));
      socket.destroy();
    });
  });
}

const BATCH_HEADER_BYTES = 61;

function readBatches(bytes: Buffer): StoredBatch[] {
  const batches: StoredBatch[] = [];
  let start = 0;
  // The last batch may be cut; its length shows it.
  while (start + BATCH_HEADER_BYTES <= bytes.length) {
    const end = start + 12 + bytes.readInt32BE(start + 8);
    if (end > bytes.length) break;
    batches.push(readBatch(bytes.subarray(start, end)));
    start = end;
  }
  return batches;
}

function readBatch(batch: Buffer): StoredBatch {
  const baseOffset = Number(batch.readBigInt64BE(0));
  const attributes = batch.readInt16BE(21);
  const control = (attributes & 0x20) !== 0;
  const recordCount = batch.readInt32BE(57);
  const records = control
    ? []
    : readRecords(decompress(attributes & 0x7, batch.subarray(BATCH_HEADER_BYTES)), recordCount, baseOffset);
  return {
    baseOffset,
    lastOffset: baseOffset + batch.readInt32BE(23),
    bytes: batch.length,
    producerId: batch.readBigInt64BE(43),
    transactional: (attributes & 0x10) !== 0,
    control,
    recordCount,
    records,
  };
}

function decompress(codec: number, bytes: Buffer): Buffer {
  if (bytes.length === 0 || codec === 0) return bytes;
  if (codec === 1) return gunzipSync(bytes);
  if (codec === 4) return zstdDecompressSync(bytes);
  throw new Error(`The oracle does not know compression ${codec}.`);
}

function readRecords(bytes: Buffer, count: number, baseOffset: number): StoredRecord[] {
  const reader = createWireReader(bytes);
  return Array.from({ length: count }, () => readRecord(createWireReader(reader.bytes(reader.varint())), baseOffset));
}

function readRecord(reader: WireReader, baseOffset: number): StoredRecord {
  reader.skip(1); // attributes
  reader.varint(); // timestamp delta
  const offset = baseOffset + reader.varint();
  return { offset, key: reader.varintText(), value: reader.varintText() };
}
