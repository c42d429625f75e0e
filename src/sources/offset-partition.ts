import { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { untilReplaced } from '../kafka/cluster.ts';
import type { OwnershipProof } from '../kafka/group-reader.ts';
import { offsetRecord, type SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { Events } from '../observe/events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { createRunStates, type RunStates, type UnitTopics } from '../worker/run-states.ts';
import type { WorkerTargets } from '../worker/target.ts';
import { runWriterSessions } from '../worker/writer-sessions.ts';
import { HeldBackSources } from './held-back-sources.ts';
import type { SourceTask } from './source-worker.ts';
import { runSource } from './source-worker.ts';

/** These errors stop a source and end the writer too. */
const ENDS_WRITER: ReadonlySet<string> = new Set(['TOPIC_REFUSED', 'WRITER_REFUSED']);

/** A configured source, as the owner of its offset partition needs it. */
export interface Source {
  readonly name: string;
  readonly offsetKey: string;
  /** Null: nothing was ever committed. `topicIds`: by name, as `KafkaCluster.topicIds` has them. */
  startTask(offset: SourceOffset | null, topicIds: ReadonlyMap<string, string>): SourceTask;
}

export interface OffsetPartitionOptions {
  readonly partition: number;
  readonly transactionalId: string;
  readonly offsetsTopic: string;
  readonly sources: readonly Source[];
  /** Beside its offset. */
  readonly writtenBy: (source: Source) => readonly string[];
  /** `running`: the sources of its next opening. */
  readonly createWriter: (running: () => readonly Source[]) => TransactionalWriter;
  readonly topics?: UnitTopics<Source>;
  readonly kafka: Pick<KafkaCluster, 'topicIds'>;
  /** Resolves when its topics take records, verified apart from the writer. */
  readonly verifyStart?: (source: Source, signal: AbortSignal) => Promise<void>;
  /** By key; an error stands for an unreadable offset, and stops its source alone. */
  readonly readOffsets: (signal: AbortSignal) => Promise<ReadonlyMap<string, SourceOffset | ConnectorError>>;
  readonly targets: WorkerTargets;
  /** Absent where a single process needs none. */
  readonly ownershipProof?: OwnershipProof['since'];
  /** Waits for an operator when every source has failed. */
  readonly waitsForOperator: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly signal: AbortSignal;
}

/**
 * Runs the sources of one partition of the offsets topic through one transactional writer. A session is: fence, read
 * the committed offsets, run every source from there. A failure of the writer ends it for all sources and drops what
 * they had fetched; so does a restart by an operator.
 *
 * @returns the names of the failed sources, when none is left to run; rejects with the signal's reason.
 */
export async function runOffsetPartition(options: OffsetPartitionOptions): Promise<readonly string[]> {
  const { partition, transactionalId, sources, targets, kafka, clock, events } = options;
  const held = new HeldBackSources<Source>({ ...options, target: ({ name }) => targets.of(name) });
  const runStates = createRunStates<Source>({
    units: sources,
    targets,
    restsWhen: ['stopped'],
    held,
    topics: options.topics,
    onRest: ({ name }) => events.sourceStopped({ source: name }),
    onFailed: ({ name }, err) => events.sourceFailed({ source: name, err }),
  });
  let running: readonly Source[] = [];
  const writer = options.createWriter(() => running);
  const blamed = (source: Source, isCertain: boolean) => {
    if (sources.length > 1) held.failed(source, { isCertain });
  };
  await runWriterSessions({
    ...options,
    writer,
    // After the fence and before anything is read: a later replacement is noticed.
    async readPosition(signal) {
      const written = [...new Set(running.flatMap(options.writtenBy))];
      const [offsets, topicIds] = await Promise.all([options.readOffsets(signal), kafka.topicIds(written, signal)]);
      return { offsets, topicIds };
    },
    async untilDue(signal) {
      for (running = []; running.length === 0; running = sources.filter(runStates.isDue)) {
        if (!options.waitsForOperator && runStates.allFailed()) return false;
        await runStates.untilAnyIsDue(signal);
      }
      return true;
    },
    run({ position, startedMs, committed }) {
      events.writerOpened({ partition, transactionalId, durationMs: clock.monotonicMs() - startedMs });
      return runSession({ ...options, ...position, writer, runStates, running, committed, blamed });
    },
    stopFailed(error) {
      if (!(error instanceof ConnectorError) || error.action !== 'stopSource') return false;
      for (const source of concernedBy(options, error)) if (runStates.isDue(source)) runStates.failed(source, error);
      return true;
    },
    lost(error) {
      events.writerLost({ partition, err: error });
      if (error.code === 'TOPIC_REPLACED') return options.topics?.doubt(error.fields.topics as string[], error);
      const concerned = concernedBy(options, error);
      if (concerned.length < running.length) for (const source of concerned) blamed(source, true);
    },
  });
  return sources.map((source) => source.name);
}

/** All sources, where the error names no topic. */
function concernedBy({ sources, writtenBy }: OffsetPartitionOptions, error: ConnectorError): readonly Source[] {
  const named = error.fields.topics;
  if (!Array.isArray(named)) return sources;
  const concerned = sources.filter((source) => writtenBy(source).some((topic) => named.includes(topic)));
  return concerned.length > 0 ? concerned : sources;
}

interface Session extends OffsetPartitionOptions {
  readonly writer: TransactionalWriter;
  readonly runStates: RunStates<Source>;
  readonly running: readonly Source[];
  readonly offsets: ReadonlyMap<string, SourceOffset | ConnectorError>;
  readonly topicIds: ReadonlyMap<string, string>;
  readonly committed: () => void;
  readonly blamed: (source: Source, isCertain: boolean) => void;
}

/** Runs until the writer fails, the signal aborts, another source shall start or none is left. A commit ends first. */
async function runSession(options: Session): Promise<void> {
  const { kafka, clock, random, events, targets, sources, runStates, offsets, topicIds } = options;
  const session = new AbortController();
  const signal = AbortSignal.any([options.signal, session.signal]);
  const failures: unknown[] = [];
  const commit = committing(options);
  const running = new Set(options.running.filter(runStates.isDue));
  const run = async (source: Source): Promise<void> => {
    const { name } = source;
    const leave = runStates.leaving(source, signal);
    try {
      const offset = offsets.get(source.offsetKey) ?? null;
      if (offset instanceof ConnectorError) throw offset;
      const task = source.startTask(offset, topicIds);
      const target = () => targets.of(name);
      const own = (records: readonly OutgoingRecord[], next: SourceOffset) => commit(source, records, next);
      await runSource({ source: name, task, commit: own, target, clock, random, events, signal: leave.signal });
    } catch (error) {
      if (error instanceof ConnectorError && error.action === 'stopSource') runStates.failed(source, error);
      else if (error !== leave.reason) throw error;
      if (error instanceof ConnectorError && ENDS_WRITER.has(error.code)) session.abort();
    } finally {
      leave.end();
    }
  };
  const loops = sources.map(async (source) => {
    try {
      if (running.has(source)) await run(source);
      running.delete(source);
      if (running.size > 0) await runStates.untilDue(source, signal);
    } catch (error) {
      if (!session.signal.aborted) failures.push(error);
    }
    session.abort();
  });
  const replaced = untilReplaced({ kafka, known: topicIds, clock, signal }).catch((error: unknown) => {
    if (!session.signal.aborted) failures.push(error);
    session.abort();
  });
  await Promise.all([...loops, replaced]);
  options.signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
}

/** Each source waits for the transaction before it, never for a poll. */
function committing({ writer, partition, offsetsTopic, committed, blamed }: Session) {
  let last: Promise<void> = Promise.resolve();
  return async (source: Source, records: readonly OutgoingRecord[], offset: SourceOffset): Promise<void> => {
    const sourceOffset = offsetRecord({ topic: offsetsTopic, partition, key: source.offsetKey, offset });
    const mine = last.then(() => writer.commit({ records, sourceOffset }));
    last = mine.catch(() => {});
    try {
      await mine;
      committed();
    } catch (error) {
      // A source that was fenced, or came behind a failed commit, is not to blame.
      if (error instanceof ConnectorError && error.code === 'TRANSACTION_FAILED') blamed(source, false);
      throw error;
    }
  };
}
