import { ConnectorError } from '../errors.ts';
import { type KafkaCluster, untilReplaced } from '../kafka/cluster.ts';
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
import { runSource, type SourceTask } from './source-worker.ts';

/** Errors that stop a source and also make the shared writer unusable. */
const ENDS_WRITER: ReadonlySet<string> = new Set(['TOPIC_REFUSED', 'WRITER_REFUSED']);

/** A source of the settings. The replica that owns the partition of the source's offset runs the source. */
export interface Source {
  readonly name: string;
  readonly offsetKey: string;
  /** `offset`: null before the first commit. `topicIds`: Kafka's id of each topic, from `KafkaCluster.topicIds`. */
  startTask(offset: SourceOffset | null, topicIds: ReadonlyMap<string, string>): SourceTask;
}

export interface OffsetPartitionOptions {
  readonly partition: number;
  readonly transactionalId: string;
  readonly offsetsTopic: string;
  readonly sources: readonly Source[];
  /** The names of the topics that the source writes, in addition to the offsets topic. */
  readonly writtenBy: (source: Source) => readonly string[];
  readonly createWriter: (running: () => readonly Source[]) => TransactionalWriter;
  readonly topics?: UnitTopics<Source>;
  readonly kafka: Pick<KafkaCluster, 'topicIds'>;
  /** Resolves if the source's topics accept records; a separate writer verifies this. */
  readonly verifyStart?: (source: Source, signal: AbortSignal) => Promise<void>;
  /** Returns the offsets by key. An unreadable offset has an error as its value: the error stops only its source. */
  readonly readOffsets: (signal: AbortSignal) => Promise<ReadonlyMap<string, SourceOffset | ConnectorError>>;
  /** The mark of a reset (see `parseReset`) for a source without an offset whose records show that it had one; else null. */
  readonly lostOffset?: (source: Source, signal: AbortSignal) => Promise<SourceOffset | null>;
  readonly targets: WorkerTargets;
  /** The proof that this process owns the partition. Absent if no other process can own the partition. */
  readonly ownershipProof?: OwnershipProof['since'];
  /** If all sources have failed: true waits for a restart by an operator, false returns. */
  readonly waitsForOperator: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly signal: AbortSignal;
}

/**
 * Runs the sources of one partition of the offsets topic with one transactional writer, in sessions. A session fences
 * earlier writers, reads the committed offsets, and runs every source from its offset. A failure of the writer, or an
 * operator's restart of a source, ends the session for all sources. Then their fetched pages are dropped.
 *
 * @returns the names of the failed sources, if no source is left to run; rejects with the signal's reason.
 */
export async function runOffsetPartition(options: OffsetPartitionOptions): Promise<readonly string[]> {
  const { partition, transactionalId, sources, targets, kafka, clock, events } = options;
  const held = new HeldBackSources<Source>({
    ...options,
    target: ({ name }) => targets.of(name),
    onHeld: ({ name }, failed) => events.attemptFailed({ source: name, ...failed }),
  });
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
  // The newest offsets, each with the id of the topic that has it. A topic that is created again lacks these offsets.
  let known = new Map<string, { readonly offset: SourceOffset | ConnectorError; readonly id: string | undefined }>();
  const writer = options.createWriter(() => running);
  const blamed = (source: Source, err: Error, isCertain: boolean) => {
    if (sources.length > 1) held.failed(source, { isCertain, err });
  };
  await runWriterSessions({
    ...options,
    writer,
    // Reads the topic ids between the fence and the start of the sources. A topic that gets another id was replaced.
    async readPosition(signal) {
      const written = [...new Set([options.offsetsTopic, ...running.flatMap(options.writtenBy)])];
      const [read, topicIds] = await Promise.all([options.readOffsets(signal), kafka.topicIds(written, signal)]);
      const id = topicIds.get(options.offsetsTopic);
      const lost = [...known].filter(([key, one]) => one.id !== undefined && one.id !== id && !read.has(key));
      known = new Map([...[...read].map(([key, offset]) => [key, { offset, id }] as const), ...lost]);
      const offsets = new Map([...known].map(([key, { offset }]) => [key, offset]));
      for (const source of running) {
        const mark = offsets.has(source.offsetKey) ? null : await options.lostOffset?.(source, signal);
        if (mark) offsets.set(source.offsetKey, mark);
      }
      const remember = (key: string, offset: SourceOffset) => known.set(key, { offset, id });
      return { offsets, lost: new Map(lost), topicIds, remember };
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
      if (concerned.length < running.length) for (const source of concerned) blamed(source, error, true);
    },
  });
  return sources.map((source) => source.name);
}

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
  /** The offsets that only this process knows, by key. They are committed before their sources start. */
  readonly lost: ReadonlyMap<string, unknown>;
  readonly remember: (key: string, offset: SourceOffset) => void;
  readonly topicIds: ReadonlyMap<string, string>;
  readonly committed: () => void;
  readonly blamed: (source: Source, err: Error, isCertain: boolean) => void;
}

/**
 * Runs one session until the writer fails, the signal aborts, a source may run that waits, or none runs.
 */
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
      if (options.lost.has(source.offsetKey) && offset?.reset !== true) await commit(source, [], offset ?? {});
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

/** Returns a function that commits for a source. Commits run one after another, and never wait for a poll. */
function committing({ writer, partition, offsetsTopic, remember, committed, blamed }: Session) {
  let last: Promise<void> = Promise.resolve();
  return async (source: Source, records: readonly OutgoingRecord[], offset: SourceOffset): Promise<void> => {
    const sourceOffset = offsetRecord({ topic: offsetsTopic, partition, key: source.offsetKey, offset });
    const mine = last.then(() => writer.commit({ records, sourceOffset }));
    last = mine.catch(() => {});
    try {
      await mine;
      remember(source.offsetKey, offset);
      committed();
    } catch (error) {
      // The code TRANSACTION_FAILED points to this source. A fence or an earlier failed commit has a different code.
      if (error instanceof ConnectorError && error.code === 'TRANSACTION_FAILED') blamed(source, error, false);
      throw error;
    }
  };
}
