import type { SourceSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import {
  offsetKey,
  offsetPartition,
  offsetRecord,
  operatorMark,
  readAllOffsets,
  type SourceOffset,
  type StoredOffset,
} from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { partitionsOf } from '../kafka/topic.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { commitInTurn } from './commit-in-turn.ts';
import type { Installation } from './installation.ts';
import { readSettledWanted, readWanted } from './state-operation.ts';

/** The offset of one source. The source may be absent from the settings. */
export interface ListedOffset {
  /** The name of the source; the whole key if another program wrote the key. */
  readonly source: string;
  readonly type: string | null;
  readonly configured: boolean;
  readonly partition: number;
  /** Null if no offset is committed, or if the offset cannot be read. */
  readonly offset: SourceOffset | null;
  /** Why the committed offset cannot be read; otherwise null. */
  readonly problem: string | null;
}

type SourceName = Pick<SourceSettings, 'name' | 'type'>;

/** Lists all committed offsets, and all configured sources without an offset, sorted by name. */
export async function listOffsets({ settings, kafka, topics, signal }: Installation): Promise<readonly ListedOffset[]> {
  const partitions = partitionsOf(topics.offsets).map(({ partition }) => partition);
  const stored = await readAllOffsets(kafka.logReader, topics.offsets.name, partitions, signal);
  const configured = new Map(settings.sources.map((source) => [keyOf(source), source]));
  const found = stored.map((one) => listed(one, configured.has(one.key)));
  const without = [...configured]
    .filter(([key]) => stored.every((one) => one.key !== key))
    .map(([key]) => listed({ key, partition: offsetPartition(key), offset: null, error: null }, true));
  return [...found, ...without].sort((a, b) => (a.source < b.source ? -1 : 1));
}

export interface OffsetChange {
  readonly before: ListedOffset;
  /** The other sources whose offsets are on the same partition. They share the writer of this partition. */
  readonly besides: readonly string[];
  /** True if the source is stopped; otherwise its offset is not changed. */
  readonly isStopped: boolean;
  readonly done: boolean;
}

export interface OffsetRequest {
  readonly source: SourceName;
  /** If false, nothing is written and no writer is fenced. */
  readonly execute: boolean;
}

/** Deletes the committed offset, if there is one and `execute` is true. Throws the errors of `changeOffset`. */
export function resetOffset(at: Installation, request: OffsetRequest): Promise<OffsetChange> {
  return changeOffset(at, request, ({ offset, error }) => (offset === null && error === null ? undefined : null));
}

/**
 * Changes the committed offset of a stopped source, with a writer that has the transactional id of the partition. Our
 * writer fences the writer of a running connector, even if the connector has not seen the stop of the source yet. The
 * connector opens its writer again, and the other sources on the partition continue from their offsets. A mark in the
 * transaction tells the connector that an operator fenced its writer. If the connector fences our writer first, or
 * Kafka does not answer, `change` is called again with the newly read offset.
 *
 * @param change receives the stored offset and returns the new offset; null deletes the offset, undefined keeps it
 * @param notices returns more records for the same transaction
 * @throws ConnectorError SOURCE_NOT_STOPPED, and the errors of the transactional writer and of `change`.
 */
export async function changeOffset(
  at: Installation,
  { source, execute }: OffsetRequest,
  change: (stored: StoredOffset) => SourceOffset | null | undefined,
  notices: (stored: StoredOffset) => readonly OutgoingRecord[] = () => [],
): Promise<OffsetChange> {
  const { settings, kafka, topics, signal } = at;
  const key = keyOf(source);
  const partition = offsetPartition(key);
  const topic = topics.offsets.name;
  const besides = settings.sources
    .filter((other) => other.name !== source.name && offsetPartition(keyOf(other)) === partition)
    .map(({ name }) => name);
  const read = async (readSignal: AbortSignal): Promise<StoredOffset> => {
    const stored = await readAllOffsets(kafka.logReader, topic, [partition], readSignal, true);
    return stored.find((one) => one.key === key) ?? { key, partition, offset: null, error: null };
  };
  const isStopped = (await readWanted(at, source.name)).state === 'stopped';
  if (!execute) return { before: listed(await read(signal), true), besides, isStopped, done: false };
  if (!isStopped && (await readSettledWanted(at, source.name)).state !== 'stopped') throw notStopped(source.name);
  let before: StoredOffset | undefined;
  let fencings = 0;
  const changing = commitInTurn(at, `${settings.prefix}-sources-${partition}`, {
    // Hanging transactions on other partitions do not matter: the connector aborts them when it opens its writer.
    abortHanging: () => [{ topic, partition }],
    read,
    writes(found) {
      fencings += 1;
      const offset = change(found);
      // If the commit of an earlier attempt got no answer, it may have changed the offset. Then `before` is the older offset.
      if (offset !== undefined) before = found;
      const sourceOffset = offset === undefined ? undefined : offsetRecord({ topic, key, offset });
      const records = offset === undefined ? [] : notices(found);
      return { records: [operatorMark({ topic, partition, fencings }), ...records], sourceOffset };
    },
  });
  const found = await changing.catch((error: unknown) => {
    if (!(error instanceof ConnectorError) || error.action !== 'reopenWriter') throw error;
    throw new ConnectorError(
      error.code,
      `It is unknown if the offset of source ${source.name} was changed: another process fenced the writer ` +
        `${fencings} times, or Kafka did not answer. Check the offset with \`spconnect offsets list\`. If the offset was not changed, repeat the command.`,
      { cause: error },
    );
  });
  return { before: listed(before ?? found, true), besides, isStopped: true, done: before !== undefined };
}

function notStopped(source: string): ConnectorError {
  return new ConnectorError(
    'SOURCE_NOT_STOPPED',
    `The offset of source ${source} was not changed: the source is not stopped, and could continue from the old offset.`,
    { fields: { source } },
  );
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
    // The key of another program is shown unchanged.
  }
  return { source: key, type: null };
}

/** @throws OFFSET_UNREADABLE, FILTER_CHANGED or OFFSET_NOT_FOUND if the source cannot continue from the offset. */
export function assertUsable(source: SourceSettings, offset: SourceOffset): void {
  const { since } = kindOf(source).readOffset(source, offset);
  if (since !== null) assertForm(source, since);
}

function assertForm(source: Pick<SourceSettings, 'type'>, since: string): void {
  const { form, words } = kindOf(source).offsets;
  if (form.test(since)) return;
  throw new ConnectorError(
    'OFFSET_NOT_FOUND',
    `The offset does not have the form of the provider's offsets; expected ${words}.`,
  );
}
