/**
 * Just enough of the Kafka wire protocol to name the requests that pass by: every message is a 4-byte length and a
 * frame; a request's frame begins with api key, api version and correlation id, an answer's with the correlation id.
 */
const API_KEYS = {
  Produce: 0,
  Fetch: 1,
  ListOffsets: 2,
  Metadata: 3,
  OffsetCommit: 8,
  OffsetFetch: 9,
  FindCoordinator: 10,
  JoinGroup: 11,
  Heartbeat: 12,
  LeaveGroup: 13,
  SyncGroup: 14,
  DescribeGroups: 15,
  ApiVersions: 18,
  InitProducerId: 22,
  AddPartitionsToTxn: 24,
  AddOffsetsToTxn: 25,
  EndTxn: 26,
  WriteTxnMarkers: 27,
  TxnOffsetCommit: 28,
} as const;

export type ApiName = keyof typeof API_KEYS;

const NAMES: ReadonlyMap<number, ApiName> = new Map(
  Object.entries(API_KEYS).map(([name, key]) => [key, name as ApiName]),
);

const LENGTH_BYTES = 4;
/** Kafka's own default for the largest request is 100 MiB; what is longer is no Kafka traffic. */
const MAXIMUM_FRAME_BYTES = 104_857_600;

export interface RequestHeader {
  /** The name when it is a known one, else `api <key>`. */
  readonly api: ApiName | `api ${number}`;
  readonly correlationId: number;
}

/** @param frame a whole request, its length prefix included. */
export function readRequestHeader(frame: Buffer): RequestHeader {
  const apiKey = frame.readInt16BE(LENGTH_BYTES);
  return {
    api: NAMES.get(apiKey) ?? `api ${apiKey}`,
    correlationId: frame.readInt32BE(LENGTH_BYTES + 4),
  };
}

/** @param frame a whole answer, its length prefix included. */
export function readAnswerCorrelationId(frame: Buffer): number {
  return frame.readInt32BE(LENGTH_BYTES);
}

/** Turns a stream's chunks into whole frames, length prefixes included; keeps what is not yet whole. */
export function createFrameSplitter(): (chunk: Buffer) => Buffer[] {
  let chunks: Buffer[] = [];
  let buffered = 0;
  let needed = LENGTH_BYTES;
  return (chunk) => {
    chunks.push(chunk);
    buffered += chunk.length;
    const frames: Buffer[] = [];
    while (buffered >= needed) {
      const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
      const frameBytes = LENGTH_BYTES + whole.readInt32BE(0);
      if (frameBytes < LENGTH_BYTES || frameBytes > MAXIMUM_FRAME_BYTES) throw new Error('This is no Kafka traffic.');
      const complete = whole.length >= frameBytes;
      if (complete) frames.push(whole.subarray(0, frameBytes));
      const rest = complete ? whole.subarray(frameBytes) : whole;
      chunks = [rest];
      buffered = rest.length;
      needed = complete ? LENGTH_BYTES : frameBytes;
    }
    return frames;
  };
}
