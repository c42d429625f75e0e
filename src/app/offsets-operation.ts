import {
  offsetKey,
  offsetPartition,
  offsetRecord,
  readAllOffsets,
  type SourceOffset,
  type StoredOffset,
} from '../kafka/offset-store.ts';
import type { Installation } from './installation.ts';

/** The offset of one source, configured or not. */
export interface ListedOffset {
  /** The name of the source; the whole key where that is none of ours. */
  readonly source: string;
  readonly type: string | null;
  /** Whether the settings have this source. */
  readonly configured: boolean;
  readonly partition: number;
  /** Null when none is committed, or when it cannot be read. */
  readonly offset: SourceOffset | null;
  /** Why the committed value cannot be read; null when it can. */
  readonly problem: string | null;
}

type SourceName = Pick<Installation['settings']['sources'][number], 'name' | 'type'>;

/** Every committed offset, and every configured source that has none, by name. */
export async function listOffsets({ settings, kafka, topics, signal }: Installation): Promise<readonly ListedOffset[]> {
  const stored = await readAllOffsets(kafka.logReader, topics.offsets.name, allPartitions(topics.offsets), signal);
  const configured = new Map(settings.sources.map((source) => [keyOf(source), source]));
  const found = stored.map((one) => listed(one, configured.has(one.key)));
  const without = [...configured]
    .filter(([key]) => stored.every((one) => one.key !== key))
    .map(([key]) => listed({ key, partition: offsetPartition(key), offset: null, error: null }, true));
  return [...found, ...without].sort((a, b) => (a.source < b.source ? -1 : 1));
}

export interface OffsetReset {
  /** What is, or was, committed. */
  readonly before: ListedOffset;
  /** The other sources whose offsets stand on the same partition: their writer is the same one. */
  readonly besides: readonly string[];
  /** Whether the offset was deleted. */
  readonly done: boolean;
}

/**
 * Deletes the committed offset of a source, when `execute` says so and there is one. It is written through the
 * partition's own transactional id, so a running connector is fenced: it opens its writer anew, starts this source from
 * the beginning, and the others on the partition from where they are.
 *
 * @throws ConnectorError as the transactional writer does.
 */
export async function resetOffset(
  { settings, kafka, topics, signal }: Installation,
  { source, execute }: { readonly source: SourceName; readonly execute: boolean },
): Promise<OffsetReset> {
  const key = keyOf(source);
  const partition = offsetPartition(key);
  const topic = topics.offsets.name;
  const besides = settings.sources
    .filter((other) => other.name !== source.name && offsetPartition(keyOf(other)) === partition)
    .map(({ name }) => name);
  const read = async (readSignal: AbortSignal): Promise<StoredOffset> => {
    const stored = await readAllOffsets(kafka.logReader, topic, [partition], readSignal);
    return stored.find((one) => one.key === key) ?? { key, partition, offset: null, error: null };
  };
  if (!execute) return { before: listed(await read(signal), true), besides, done: false };
  const writer = kafka.transactionalWriter(`${settings.prefix}-sources-${partition}`);
  const stored = await writer.open(read, signal);
  const done = stored.offset !== null || stored.error !== null;
  if (done) await writer.commit([offsetRecord({ topic, key, offset: null })]);
  await writer.close();
  return { before: listed(stored, true), besides, done };
}

function keyOf({ name, type }: SourceName): string {
  return offsetKey(name, type);
}

function listed({ key, partition, offset, error }: StoredOffset, configured: boolean): ListedOffset {
  const { source, type } = parseKey(key);
  return { source, type, configured, partition, offset, problem: error?.message ?? null };
}

function parseKey(key: string): { source: string; type: string | null } {
  try {
    const [source, place] = JSON.parse(key) as [unknown, { endpoint?: unknown } | undefined];
    const type = place?.endpoint;
    if (typeof source === 'string' && typeof type === 'string') return { source, type };
  } catch {
    // The key of another program, which is shown as it is.
  }
  return { source: key, type: null };
}

function allPartitions({ partitions }: { readonly partitions: number }): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}
