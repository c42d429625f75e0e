import { ConnectorError } from '../errors.ts';
import { offsetRecord, type SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { HeldBackSources } from './held-back-sources.ts';
import { LapTurns } from './lap-turns.ts';
import { createSourceStandings, type SourceStandings, type VerifiedTopics } from './source-standings.ts';
import type { SourceTargets } from './source-target.ts';
import type { SourceTask } from './source-task.ts';
import { runSource } from './source-worker.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** Whoever has fenced us is let finish, as an operator's command that changes an offset; each time in a row for longer. */
const FENCED_WAIT_MS = 1_000;
const MOST_FENCED_WAITS = 10;
/** What stops a source and is an end of the writer too. */
const ENDS_WRITER: ReadonlySet<string> = new Set(['TOPIC_REFUSED', 'WRITER_REFUSED']);
/** How long the neighbours of a source that shall run again may take to end their turns. */
const TURN_PATIENCE_MS = 10_000;

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
  readonly offsetsTopic: string;
  /** The sources whose offsets live on this partition. */
  readonly sources: readonly Source[];
  /** The topics that a source writes, beside its offset. */
  readonly writtenBy: (source: Source) => readonly string[];
  /** The partition's one writer; `running` gives the sources that its next opening is for. */
  readonly createWriter: (running: () => readonly Source[]) => TransactionalWriter;
  /** Whether the topics of each source are as they must be; left out where all of them are known to be. */
  readonly topics?: VerifiedTopics<Source>;
  /** Resolves when the topics of a source take records, tried apart from the partition's writer. */
  readonly prove?: (source: Source, signal: AbortSignal) => Promise<void>;
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
  const { clock, events, signal, sources, targets, prove } = options;
  const target = ({ name }: Source) => targets.of(name);
  const held = new HeldBackSources<Source>({ clock, random: options.random, target, prove });
  const standings = createSourceStandings({ ...options, held });
  let running: readonly Source[] = [];
  const writer = options.createWriter(() => running);
  const blamed = (source: Source, isCertain: boolean) => {
    if (sources.length > 1) held.failed(source, { isCertain });
  };
  let fencings = 0;
  try {
    for (let failures = 1; options.waitsForOperator || !standings.allFailed(); failures++) {
      await standings.untilAnyIsDue(signal);
      running = sources.filter(standings.isDue);
      if (running.length === 0) continue;
      try {
        const startedMs = clock.monotonicMs();
        const offsets = await writer.open(options.readOffsets, signal);
        const { partition, transactionalId } = options;
        events.writerOpened({ partition, transactionalId, durationMs: clock.monotonicMs() - startedMs });
        const onCommitted = () => {
          failures = 0;
          fencings = 0;
        };
        await runLap({ ...options, writer, standings, running, offsets, onCommitted, blamed });
      } catch (error) {
        signal.throwIfAborted();
        const concerned = concernedBy(options, error);
        if (error instanceof ConnectorError && error.action === 'stopSource') {
          // What stops the writer for good stops every source that writes through it, or there, and no other.
          for (const source of concerned) if (standings.isDue(source)) standings.failed(source, error);
          continue;
        }
        if (!isRecoverable(error)) throw error;
        events.writerLost({ partition: options.partition, err: error });
        if (concerned.length < running.length) for (const source of concerned) blamed(source, true);
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

/** The sources that write to the topics that an error names; all, where it names none. */
function concernedBy({ sources, writtenBy }: OffsetPartitionOptions, error: unknown): readonly Source[] {
  const named = error instanceof ConnectorError ? error.fields.topics : undefined;
  if (!Array.isArray(named)) return sources;
  const concerned = sources.filter((source) => writtenBy(source).some((topic) => named.includes(topic)));
  return concerned.length > 0 ? concerned : sources;
}

interface Lap extends OffsetPartitionOptions {
  readonly writer: TransactionalWriter;
  readonly standings: SourceStandings<Source>;
  /** Those that the writer was opened for. */
  readonly running: readonly Source[];
  readonly offsets: ReadonlyMap<string, SourceOffset | ConnectorError>;
  readonly onCommitted: () => void;
  readonly blamed: (source: Source, isCertain: boolean) => void;
}

/**
 * Runs these sources until the writer fails, the signal aborts, another source shall start, or none is left; waits for
 * all of them to end. For another source the turns under way may end.
 */
async function runLap(options: Lap): Promise<void> {
  const { clock, random, events, targets, sources, standings, offsets } = options;
  const lap = new AbortController();
  const signal = AbortSignal.any([options.signal, lap.signal]);
  const failures: unknown[] = [];
  const turns = new LapTurns();
  const commit = committing(options, turns);
  const running = new Set(options.running.filter(standings.isDue));
  const run = async (source: Source): Promise<void> => {
    const { name } = source;
    const leave = standings.leaving(source, signal);
    try {
      const offset = offsets.get(source.offsetKey) ?? null;
      if (offset instanceof ConnectorError) throw offset;
      const task = inTurns(source.startTask(offset), turns);
      const target = () => targets.of(name);
      const own = (records: readonly OutgoingRecord[], committed: SourceOffset) => commit(source, records, committed);
      await runSource({ source: name, task, commit: own, target, clock, random, events, signal: leave.signal });
    } catch (error) {
      if (error instanceof ConnectorError && error.action === 'stopSource') standings.failed(source, error);
      else if (error !== leave.reason) throw error;
      // The writer did not survive it either.
      if (error instanceof ConnectorError && ENDS_WRITER.has(error.code)) lap.abort();
    } finally {
      leave.end();
    }
  };
  const loops = sources.map(async (source) => {
    try {
      if (running.has(source)) await run(source);
      running.delete(source);
      if (running.size > 0) {
        await standings.untilDue(source, signal);
        await turns.over(clock, TURN_PATIENCE_MS, signal);
      }
    } catch (error) {
      if (!lap.signal.aborted) failures.push(error);
    }
    lap.abort();
  });
  await Promise.all(loops);
  options.signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
}

/** A task whose polls are turns, which end here unless there is something to commit. */
function inTurns(task: SourceTask, turns: LapTurns): SourceTask {
  return {
    async poll(signal) {
      await turns.begin(signal);
      try {
        const turn = await task.poll(signal);
        if (turn.offset === null) turns.end();
        return turn;
      } catch (error) {
        turns.end();
        throw error;
      }
    },
  };
}

/** Sources on one partition share one writer: each waits for the transaction before it, never for a poll. */
function committing({ writer, partition, offsetsTopic, onCommitted, blamed }: Lap, turns: LapTurns) {
  let last: Promise<void> = Promise.resolve();
  return async (source: Source, records: readonly OutgoingRecord[], offset: SourceOffset): Promise<void> => {
    const sourceOffset = offsetRecord({ topic: offsetsTopic, partition, key: source.offsetKey, offset });
    const mine = last.then(() => writer.commit({ records, sourceOffset }));
    last = mine.catch(() => {});
    try {
      await mine;
      onCommitted();
    } catch (error) {
      // Who was fenced, or came behind a commit that failed, has not failed by its own records.
      if (error instanceof ConnectorError && error.code === 'TRANSACTION_FAILED') blamed(source, false);
      throw error;
    } finally {
      turns.end();
    }
  };
}

function isRecoverable(error: unknown): error is ConnectorError {
  return error instanceof ConnectorError && (error.action === 'reopenWriter' || error.action === 'retry');
}
