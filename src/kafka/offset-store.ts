import { ConnectorError } from '../errors.ts';
import type { LogReader, ReadToEnd } from './log-reader.ts';
import { type CommittedRecord, type OutgoingRecord, partitionFor } from './record.ts';
import { OFFSETS_PARTITIONS } from './topic-plan.ts';

/*
 * The offsets topic holds the offset of each source, in Kafka Connect's exact format. The key of a source is
 * `["<source>",{"endpoint":"<source type>"}]`. The key must not change. With another key, the source would have a second
 * writer, and both writers would run. A null value means that an operator reset the offset.
 */

/** A source's offset: a flat map of primitives, as in Kafka Connect. Integers above 2^53 are text. */
export type SourceOffset = Readonly<Record<string, string | number | boolean | null>>;

export function offsetKey(source: string, sourceType: string): string {
  return JSON.stringify([source, { endpoint: sourceType }]);
}

export function offsetPartition(key: string, partitions = OFFSETS_PARTITIONS): number {
  return partitionFor(Buffer.from(key), partitions);
}

export function offsetRecord(options: {
  readonly topic: string;
  readonly partition?: number;
  readonly key: string;
  readonly offset: SourceOffset | null;
}): OutgoingRecord {
  const { topic, key, offset, partition = offsetPartition(key) } = options;
  return {
    topic,
    partition,
    key: Buffer.from(key),
    value: offset === null ? null : Buffer.from(JSON.stringify(offset)),
    headers: {},
  };
}

/**
 * Returns the offsets by key. If a key was reset, its value is the mark of the reset (see `parseReset`). An unreadable
 * offset becomes an error. Call this in `readPosition`, after the fence. Before the fence, an earlier writer can still commit.
 * @throws the errors of `readToEnd`.
 */
export async function readOffsets(
  reader: LogReader,
  topic: string,
  partition: number,
  signal: AbortSignal,
  marks?: OperatorMarks,
): Promise<ReadonlyMap<string, SourceOffset | ConnectorError>> {
  const offsets = new Map<string, SourceOffset | ConnectorError>();
  const request = { topic, partitions: [partition], toHighWatermark: true, signal };
  for (const [key, { newest, before }] of await readNewest(reader, request, marks)) {
    if (newest.value !== null) offsets.set(key, parseOffset(key, newest, newest.value));
    else offsets.set(key, { reset: true, before: before?.toString() ?? null });
  }
  return offsets;
}

/** The offset before a reset; {} if the topic no longer has that offset. Null if `offset` is not the mark of a reset. */
export function parseReset(offset: SourceOffset): SourceOffset | null {
  if (offset.reset !== true) return null;
  try {
    const before: unknown = JSON.parse(String(offset.before));
    return isSourceOffset(before) ? before : {};
  } catch {
    return {};
  }
}

export interface StoredOffset {
  readonly key: string;
  readonly partition: number;
  readonly offset: SourceOffset | null;
  readonly error: ConnectorError | null;
}

/** Omits keys that were reset. An open transaction can hide a newer offset, except with `toHighWatermark` after a fence. */
export async function readAllOffsets(
  reader: LogReader,
  topic: string,
  partitions: readonly number[],
  signal: AbortSignal,
  toHighWatermark = false,
): Promise<readonly StoredOffset[]> {
  const found = await readNewest(reader, { topic, partitions, toHighWatermark, signal });
  return [...found].flatMap(([key, { newest }]): StoredOffset[] => {
    const { partition, value } = newest;
    if (value === null) return [];
    const parsed = parseOffset(key, newest, value);
    const isReadable = !(parsed instanceof ConnectorError);
    return [{ key, partition, offset: isReadable ? parsed : null, error: isReadable ? null : parsed }];
  });
}

/** The newest record of each key. `before`: the value before a reset, null if the topic no longer has it. */
async function readNewest(
  reader: LogReader,
  request: Omit<ReadToEnd, 'onRecord'>,
  marks?: OperatorMarks,
): Promise<ReadonlyMap<string, { readonly newest: CommittedRecord; readonly before: Buffer | null }>> {
  const found = new Map<string, { readonly newest: CommittedRecord; readonly before: Buffer | null }>();
  const onRecord = (newest: CommittedRecord) => {
    if (newest.key === null) return;
    if (isOperatorMark(newest)) return marks?.take(newest);
    const key = newest.key.toString();
    const earlier = found.get(key);
    const before = newest.value === null ? (earlier?.newest.value ?? earlier?.before ?? null) : null;
    found.set(key, { newest, before });
  };
  await reader.readToEnd({ ...request, onRecord });
  return found;
}

function parseOffset(key: string, record: CommittedRecord, value: Buffer): SourceOffset | ConnectorError {
  try {
    const parsed: unknown = JSON.parse(value.toString());
    if (!isSourceOffset(parsed)) throw new Error('it is not a flat JSON object of primitives');
    return parsed;
  } catch (cause) {
    const { topic, partition, offset } = record;
    return new ConnectorError(
      'OFFSET_UNREADABLE',
      `The value of key ${key} at offset ${offset} of ${topic}, partition ${partition}, cannot be read as a source ` +
        'offset: expected a flat JSON object of text, numbers, booleans and null.',
      { cause, fields: { topic, partition, offset: String(offset), key } },
    );
  }
}

function isSourceOffset(value: unknown): value is SourceOffset {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((field) => {
    // JSON.parse has already rounded an unsafe integer. A rounded offset would skip or repeat events.
    if (typeof field === 'number') return !Number.isInteger(field) || Number.isSafeInteger(field);
    return typeof field !== 'object' || field === null;
  });
}

/*
 * An operator's command uses the transactional id of a running connector, and so fences the connector's writer. The
 * command's transaction writes a mark. Without the mark, the connector would report another installation with its ids.
 */

const KEY = Buffer.from('["",{"operator":true}]');
export const FENCINGS_HEADER = 'spc-fencings';

export function operatorMark(options: {
  readonly topic: string;
  readonly partition: number;
  readonly fencings: number;
}): OutgoingRecord {
  const { topic, partition, fencings } = options;
  return { topic, partition, key: KEY, value: null, headers: { [FENCINGS_HEADER]: String(fencings) } };
}

function isOperatorMark({ key }: Pick<CommittedRecord, 'key'>): boolean {
  return key?.equals(KEY) === true;
}

/** Counts the fencings that the marks of one partition report. Each mark counts once, even if the topic is read again. */
export class OperatorMarks {
  #newestMs = Number.NEGATIVE_INFINITY;
  #fencings = 0;

  take({ timestampMs, headers }: Pick<CommittedRecord, 'timestampMs' | 'headers'>): void {
    // By the broker's time, because offsets begin again on a topic that is created again.
    if (timestampMs <= this.#newestMs) return;
    this.#newestMs = timestampMs;
    const fencings = Number(headers[FENCINGS_HEADER]);
    this.#fencings += Number.isSafeInteger(fencings) && fencings > 0 ? fencings : 1;
  }

  /** Returns the number of fencings since the last call. */
  drain(): number {
    const fencings = this.#fencings;
    this.#fencings = 0;
    return fencings;
  }
}
