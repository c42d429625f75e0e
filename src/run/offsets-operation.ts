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
import { kindOf } from '../sources/kinds/all.ts';
import { commitInTurn } from './commit-in-turn.ts';
import type { Installation } from './installation.ts';
import { readSettledWanted, readWanted } from './state-operation.ts';

/** The offset of one source, configured or not. */
export interface ListedOffset {
  /** The name of the source; the whole key if another program wrote it. */
  readonly source: string;
  readonly type: string | null;
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

export interface OffsetChange {
  readonly before: ListedOffset;
  /** The other sources whose offsets are on the same partition: their writer is the same one. */
  readonly besides: readonly string[];
  /** An offset is changed only while its source is stopped. */
  readonly isStopped: boolean;
  readonly done: boolean;
}

export interface OffsetRequest {
  readonly source: SourceName;
  /** Without it nothing is written, and no writer fenced. */
  readonly execute: boolean;
}

/** As `changeOffset`: deletes the committed offset, if there is one and `execute` says so. */
export function resetOffset(at: Installation, request: OffsetRequest): Promise<OffsetChange> {
  return changeOffset(at, request, ({ offset, error }) => (offset === null && error === null ? undefined : null));
}

/**
 * Changes the committed offset of a source that is stopped. It is written through the partition's own transactional id,
 * so a running connector is fenced, even one that has not heard of the stop yet: it opens its writer again, and starts the
 * other sources on the partition from where they are. The transaction is marked as an operator's. When the connector
 * takes the writer back before the change is written, or Kafka does not answer, the change is decided again from what is
 * committed then.
 *
 * @param change gives the new offset from what is stored: null deletes it, undefined leaves it
 * @param notices what is written in the same transaction
 * @throws ConnectorError SOURCE_NOT_STOPPED, as the transactional writer does, and what `change` throws.
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
    // Of the hanging transactions only those of this partition matter here: the connector's own opening ends the rest.
    abortHanging: () => [{ topic, partition }],
    read,
    writes(found) {
      fencings += 1;
      const offset = change(found);
      // In a later turn it may be found changed: by the turn before, whose commit was not answered.
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
      `Whether the offset of source ${source.name} was changed is unknown: its writer was taken by another process ` +
        `${fencings} times, or Kafka did not answer. Check it with \`spconnect offsets list\`, and repeat the command if it was not changed.`,
      { cause: error },
    );
  });
  return { before: listed(before ?? found, true), besides, isStopped: true, done: before !== undefined };
}

function notStopped(source: string): ConnectorError {
  return new ConnectorError(
    'SOURCE_NOT_STOPPED',
    `The offset of source ${source} was not changed: the source is not stopped, and could continue from the old one.`,
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
    // The key of another program, which is shown as it is.
  }
  return { source: key, type: null };
}

function allPartitions({ partitions }: { readonly partitions: number }): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}

/**
 * Refuses an offset from which its source could not continue.
 *
 * @throws ConnectorError OFFSET_UNREADABLE, FILTER_CHANGED, as the source would at its start; OFFSET_NOT_FOUND for an
 *   offset in the stream that has another form than the provider's.
 */
export function assertUsable(source: SourceSettings, offset: SourceOffset): void {
  const { since } = kindOf(source).readOffset(source, offset);
  if (since !== null) assertForm(source, since);
}

/** @throws ConnectorError OFFSET_NOT_FOUND for an offset in the stream that has another form than the provider's. */
export function assertForm(source: Pick<SourceSettings, 'type'>, since: string): void {
  const { form, words } = kindOf(source).offsets;
  if (form.test(since)) return;
  throw new ConnectorError(
    'OFFSET_NOT_FOUND',
    `The offset has another form than those of the provider; expected ${words}.`,
  );
}
