import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { SourceTask } from './source-task.ts';
import { runSource } from './source-worker.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };

/** A configured source, as the owner of its offset partition needs it. */
export interface Source {
  readonly name: string;
  /** The key of its record in the offsets topic. */
  readonly offsetKey: string;
  /** A task that goes on from this committed offset; null when none was ever committed. */
  startTask(offset: SourceOffset | null): SourceTask;
}

export interface OffsetPartitionOptions {
  readonly partition: number;
  readonly transactionalId: string;
  /** The sources whose offsets live on this partition. */
  readonly sources: readonly Source[];
  readonly writer: TransactionalWriter;
  readonly readOffsets: (signal: AbortSignal) => Promise<ReadonlyMap<string, SourceOffset>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
  readonly signal: AbortSignal;
}

/**
 * Runs all sources of one partition of the offsets topic through the partition's one transactional writer. One lap is:
 * fence, read the committed offsets, run every source from there. Whatever goes wrong with the writer ends the lap for
 * all of them, drops what they had fetched, and starts the next one from what is truly committed.
 *
 * @returns the names of the sources that failed, when none is left to run; rejects with the signal's reason.
 */
export async function runOffsetPartition(options: OffsetPartitionOptions): Promise<readonly string[]> {
  const { writer, clock, events, signal } = options;
  const running = new Set(options.sources);
  try {
    for (let failures = 1; running.size > 0; failures++) {
      try {
        const startedMs = clock.monotonicMs();
        const offsets = await writer.open(options.readOffsets, signal);
        const { partition, transactionalId } = options;
        events.writerOpened({ partition, transactionalId, durationMs: clock.monotonicMs() - startedMs });
        await runLap(options, running, offsets, () => {
          failures = 0;
        });
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ConnectorError && error.action === 'stopSource') return stopAll(options, running, error);
        if (!isRecoverable(error)) throw error;
        events.writerLost({ partition: options.partition, err: error });
        await clock.sleep(backOffMs(Math.max(failures, 1), REOPEN_BACK_OFF, options.random), signal);
      }
    }
  } finally {
    await writer.close();
  }
  return options.sources.map((source) => source.name);
}

/** Runs every source until the writer fails, the signal aborts, or no source is left; waits for all of them to end. */
async function runLap(
  options: OffsetPartitionOptions,
  running: Set<Source>,
  offsets: ReadonlyMap<string, SourceOffset>,
  onCommitted: () => void,
): Promise<void> {
  const { clock, random, events } = options;
  const lap = new AbortController();
  const signal = AbortSignal.any([options.signal, lap.signal]);
  const takeTurns = inTurns((records) => options.writer.commit(records));
  const commit = async (records: readonly OutgoingRecord[]) => {
    await takeTurns(records);
    onCommitted();
  };
  const loops = [...running].map(async (source) => {
    try {
      const task = source.startTask(offsets.get(source.offsetKey) ?? null);
      await runSource({ source: source.name, task, commit, clock, random, events, signal });
    } catch (error) {
      if (error instanceof ConnectorError && error.action === 'stopSource') {
        running.delete(source);
        events.sourceFailed({ source: source.name, err: error });
        return;
      }
      lap.abort(error);
      throw error;
    }
  });
  const ended = await Promise.allSettled(loops);
  options.signal.throwIfAborted();
  const failed = ended.some((outcome) => outcome.status === 'rejected');
  if (failed) throw lap.signal.reason;
}

/** What stops the writer for good stops every source that writes through it, and no other. */
function stopAll(
  options: OffsetPartitionOptions,
  running: ReadonlySet<Source>,
  error: ConnectorError,
): readonly string[] {
  for (const source of running) options.events.sourceFailed({ source: source.name, err: error });
  return options.sources.map((source) => source.name);
}

/** Sources on one partition share one writer: each waits for the transaction before it, never for a poll. */
function inTurns(commit: (records: readonly OutgoingRecord[]) => Promise<void>) {
  let last: Promise<void> = Promise.resolve();
  return (records: readonly OutgoingRecord[]): Promise<void> => {
    const mine = last.then(() => commit(records));
    last = mine.catch(() => {});
    return mine;
  };
}

function isRecoverable(error: unknown): error is ConnectorError {
  return error instanceof ConnectorError && (error.action === 'reopenWriter' || error.action === 'retry');
}
