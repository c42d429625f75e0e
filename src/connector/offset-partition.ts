import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { createSourceStandings, type SourceStandings } from './source-standings.ts';
import type { SourceTargets } from './source-target.ts';
import type { SourceTask } from './source-task.ts';
import { runSource } from './source-worker.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** Whoever has fenced us is let finish, as an operator's command that changes an offset; each time in a row for longer. */
const FENCED_WAIT_MS = 1_000;
const MOST_FENCED_WAITS = 10;

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
  /** By key; an error stands for an offset that cannot be read, and stops its source alone. */
  readonly readOffsets: (signal: AbortSignal) => Promise<ReadonlyMap<string, SourceOffset | ConnectorError>>;
  readonly targets: SourceTargets;
  /** Whether to wait for an operator when every source has failed, instead of ending. */
  readonly waitsForOperator: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
  readonly signal: AbortSignal;
}

/**
 * Runs all sources of one partition of the offsets topic through the partition's one transactional writer. One lap is:
 * fence, read the committed offsets, run every source from there. Whatever goes wrong with the writer ends the lap for
 * all of them, drops what they had fetched, and starts the next one from what is truly committed. So does an operator
 * who lets a source start again: there is no second way to begin.
 *
 * @returns the names of the sources that failed, when none is left to run; rejects with the signal's reason.
 */
export async function runOffsetPartition(options: OffsetPartitionOptions): Promise<readonly string[]> {
  const { writer, clock, events, signal, sources } = options;
  const standings = createSourceStandings(options);
  let fencings = 0;
  try {
    for (let failures = 1; options.waitsForOperator || !standings.allFailed(); failures++) {
      await standings.untilAnyIsDue(signal);
      try {
        const startedMs = clock.monotonicMs();
        const offsets = await writer.open(options.readOffsets, signal);
        const { partition, transactionalId } = options;
        events.writerOpened({ partition, transactionalId, durationMs: clock.monotonicMs() - startedMs });
        await runLap(options, standings, offsets, () => {
          failures = 0;
          fencings = 0;
        });
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ConnectorError && error.action === 'stopSource') {
          // What stops the writer for good stops every source that writes through it, and no other.
          for (const source of sources) if (standings.isDue(source)) standings.failed(source, error);
          continue;
        }
        if (!isRecoverable(error)) throw error;
        events.writerLost({ partition: options.partition, err: error });
        fencings = error.code === 'WRITER_FENCED' ? Math.min(fencings + 1, MOST_FENCED_WAITS) : 0;
        const waitMs = backOffMs(Math.max(failures, 1), REOPEN_BACK_OFF, options.random);
        await clock.sleep(Math.max(waitMs, fencings * FENCED_WAIT_MS), signal);
      }
    }
  } finally {
    await writer.close();
  }
  return sources.map((source) => source.name);
}

/**
 * Runs every source that shall run, until the writer fails, the signal aborts, another source shall start, or none is
 * left; waits for all of them to end.
 */
async function runLap(
  options: OffsetPartitionOptions,
  standings: SourceStandings<Source>,
  offsets: ReadonlyMap<string, SourceOffset | ConnectorError>,
  onCommitted: () => void,
): Promise<void> {
  const { clock, random, events, targets, sources } = options;
  const lap = new AbortController();
  const signal = AbortSignal.any([options.signal, lap.signal]);
  const failures: unknown[] = [];
  const takeTurns = inTurns((records) => options.writer.commit(records));
  const commit = async (records: readonly OutgoingRecord[]) => {
    await takeTurns(records);
    onCommitted();
  };
  const running = new Set(sources.filter(standings.isDue));
  const run = async (source: Source): Promise<void> => {
    const { name } = source;
    const leave = standings.leaving(source, signal);
    try {
      const offset = offsets.get(source.offsetKey) ?? null;
      if (offset instanceof ConnectorError) throw offset;
      const task = source.startTask(offset);
      const target = () => targets.of(name);
      await runSource({ source: name, task, commit, target, clock, random, events, signal: leave.signal });
    } catch (error) {
      if (error instanceof ConnectorError && error.action === 'stopSource') standings.failed(source, error);
      else if (error !== leave.reason) throw error;
    } finally {
      leave.end();
    }
  };
  const loops = sources.map(async (source) => {
    try {
      if (running.has(source)) await run(source);
      running.delete(source);
      if (running.size > 0) await standings.untilDue(source, signal);
    } catch (error) {
      if (!lap.signal.aborted) failures.push(error);
    }
    lap.abort();
  });
  await Promise.all(loops);
  options.signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
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
