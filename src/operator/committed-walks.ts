import type { SourceSettingsOf } from '../config/settings.ts';
import {
  committedWalkIntervalMs,
  type InstrumentsOffset,
  readInstrumentsOffset,
} from '../connector/walk/instruments-offset.ts';
import { ConnectorError } from '../errors.ts';
import { offsetKey, offsetPartition, readAllOffsets } from '../kafka/offset-store.ts';
import { filterText } from '../provider/reference-data.ts';
import type { Installation } from './installation.ts';

/** When a source walks, by its committed offset and our clock. Times in ISO 8601. */
export interface WalkTimes {
  /** The number of the newest walk, from 1. */
  readonly walk: number;
  readonly startedAt: string;
  /** Whether that walk has not come to its end yet. */
  readonly isRunning: boolean;
  /** When the walk after it begins by itself, as the source that runs has committed it. */
  readonly nextAt: string;
  readonly intervalMs: number;
  /** How many walks in a row could not decide what is gone. */
  readonly withoutDeletion: number;
}

/**
 * Null for a source without a committed offset, or with one that cannot be read.
 *
 * @throws ConnectorError FILTER_CHANGED, and as the log reader does.
 */
export async function committedWalks(
  at: Pick<Installation, 'kafka' | 'topics' | 'signal'>,
  source: SourceSettingsOf<'instruments'>,
): Promise<WalkTimes | null> {
  const read = await committedInstruments(at, source);
  if (read === null) return null;
  const intervalMs = read.walkIntervalMs ?? source.walkIntervalMs;
  return {
    walk: read.walk,
    startedAt: new Date(read.walkStartedOwnMs).toISOString(),
    isRunning: read.walkPending,
    nextAt: new Date(read.walkStartedOwnMs + intervalMs).toISOString(),
    intervalMs,
    withoutDeletion: read.walksWithoutDeletion,
  };
}

/** The committed offset, with the interval of the source that committed it; null and errors as for `committedWalks`. */
export async function committedInstruments(
  { kafka, topics, signal }: Pick<Installation, 'kafka' | 'topics' | 'signal'>,
  source: SourceSettingsOf<'instruments'>,
): Promise<(InstrumentsOffset & { readonly walkIntervalMs: number | null }) | null> {
  const key = offsetKey(source.name, source.type);
  const stored = await readAllOffsets(kafka.logReader, topics.offsets.name, [offsetPartition(key)], signal);
  const offset = stored.find((one) => one.key === key)?.offset ?? null;
  try {
    if (offset === null) return null;
    const walkIntervalMs = committedWalkIntervalMs(offset);
    return { ...readInstrumentsOffset(offset, source.name, filterText(source)), walkIntervalMs };
  } catch (error) {
    if (error instanceof ConnectorError && error.code === 'OFFSET_UNREADABLE') return null;
    throw error;
  }
}
