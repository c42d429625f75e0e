import { connect } from 'node:net';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { type Decoder, inKafkajs } from '../../../src/kafka/kafkajs/kafkajs-internals.ts';
import { eventually } from '../runner/eventually.ts';
import { createFrameSplitter } from './kafka-wire.ts';

/**
 * The tests' own look at a partition: what the broker stores, batch by batch, and what of it a read_committed reader must
 * see. It is the oracle for clients that get this wrong. Of kafkajs it uses only the primitive types and the requests.
 */
interface StoredRecord {
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
}

interface StoredBatch {
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

const FETCH_BYTES = 8_388_608;
const MAXIMUM_FETCHES = 1_000;
const DEADLINE_MS = 10_000;

/**
 * What a broker answers for a partition that it is about to lead: after a start, and for a topic just made, it reports
 * itself as the leader before it serves each partition. Every client asks again then.
 */
const NOT_YET_SERVED = new Set([3, 5, 6, 9, 78]);

interface PartitionAddress {
  /** `host:port` of the broker that leads the partition. A function is asked before each fetch: the leader may move. */
  readonly broker: string | (() => Promise<string>);
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
  const ask = () => fetchOnce(address, offset);
  const isServed = (found: FetchedPart | number) => typeof found !== 'number' || !NOT_YET_SERVED.has(found);
  const answer = await eventually('the partition is served', ask, isServed);
  if (typeof answer !== 'number') return answer;
  throw new Error(`Fetch of ${address.topic}/${address.partition} from ${offset}: error ${answer}.`);
}

/** The answer, or the number of the error in it. */
async function fetchOnce(address: PartitionAddress, offset: number): Promise<FetchedPart | number> {
  const { topic, partition } = address;
  const request = inKafkajs('protocol/requests/fetch/v5/request.js')({
    replicaId: -1,
    maxWaitTime: 100,
    minBytes: 0,
    maxBytes: FETCH_BYTES,
    topics: [{ topic, partitions: [{ partition, fetchOffset: offset, maxBytes: FETCH_BYTES }] }],
  });
  const broker = typeof address.broker === 'string' ? address.broker : await address.broker();
  const answer = decoderOf(await exchange(broker, request));
  answer.forward(4 + 4); // throttle time, count of topics
  answer.readString();
  answer.forward(4 + 4); // count of partitions, partition
  const error = answer.readInt16();
  if (error !== 0) return error;
  const int64 = () => Number(answer.readInt64());
  const [highWatermark, lastStableOffset, logStartOffset] = [int64(), int64(), int64()] as const;
  const aborted = Array.from({ length: Math.max(0, answer.readInt32()) }, () => ({
    producerId: BigInt(String(answer.readInt64())),
    firstOffset: int64(),
  }));
  const batches = readBatches(answer.readBytes(answer.readInt32()));
  return { highWatermark, lastStableOffset, logStartOffset, aborted, batches };
}

/**
 * The leader of the partition, `host:port`, as `broker` reports it; asks again until that broker knows one.
 */
export async function leaderOf(broker: string, topic: string, partition: number): Promise<string> {
  const leader = await eventually(
    `${broker} knows who leads ${topic}/${partition}`,
    () => askForLeader(broker, topic, partition),
    (found) => found !== undefined,
  );
  return leader ?? '';
}

async function askForLeader(broker: string, topic: string, partition: number): Promise<string | undefined> {
  const metadata = 'protocol/requests/metadata/v4';
  const request = inKafkajs(`${metadata}/request.js`)({ topics: [topic], allowAutoTopicCreation: false });
  const answer: Metadata = await inKafkajs(`${metadata}/response.js`).decode(await exchange(broker, request));
  const found = answer.topicMetadata[0]?.partitionMetadata.find(({ partitionId }) => partitionId === partition);
  const leader = answer.brokers.find(({ nodeId }) => found?.partitionErrorCode === 0 && nodeId === found.leader);
  return leader && `${leader.host}:${leader.port}`;
}

interface Metadata {
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[];
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly {
      readonly partitionErrorCode: number;
      readonly partitionId: number;
      readonly leader: number;
    }[];
  }[];
}

interface PlainDecoder extends Decoder {
  readString(): string | null;
  readVarInt(): number;
  readVarIntBytes(): Buffer;
  readVarIntString(): string | null;
  readVarLong(): unknown;
  forward(bytes: number): void;
}

function decoderOf(bytes: Buffer): PlainDecoder {
  return new (inKafkajs('protocol/decoder.js'))(bytes);
}

/** One request on a connection of its own; gives the answer behind its correlation id. */
async function exchange(broker: string, request: object): Promise<Buffer> {
  const [host = '', port = ''] = broker.split(':');
  const { buffer } = await inKafkajs('protocol/request.js')({ correlationId: 1, clientId: 'oracle', request });
  return new Promise((resolve, reject) => {
    const split = createFrameSplitter();
    const socket = connect({ host, port: Number(port) }, () => socket.write(buffer));
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error(`No answer within ${DEADLINE_MS} ms.`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The broker hung up.')));
    socket.on('data', (chunk) => {
      const [frame] = split(chunk);
      if (frame === undefined) return;
      resolve(frame.subarray(4 + 4));
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
  const records = decoderOf(bytes);
  return Array.from({ length: count }, () => {
    const record = decoderOf(records.readVarIntBytes());
    record.forward(1); // attributes
    record.readVarLong(); // timestamp delta
    const offset = baseOffset + record.readVarInt();
    return { offset, key: record.readVarIntString(), value: record.readVarIntString() };
  });
}
