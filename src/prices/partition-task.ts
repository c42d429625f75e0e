import { ConnectorError } from '../errors.ts';
import type { CommittedOffset } from '../kafka/cluster.ts';
import type { OwnershipProof, PartitionReader, ReadBatch } from '../kafka/group-reader.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { Events } from '../observe/events.ts';
import type { PricedInstrumentReader } from '../records/avro/priced-instrument-reader.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { WorkerTask } from '../worker/membership.ts';
import { runWriterSessions, type WriterSession } from '../worker/writer-sessions.ts';
import type { BulkCaller } from './bulk-caller.ts';
import type { PriceKind, QuestionOutcome } from './bulk-prices.ts';
import type { Batch } from './core/batch.ts';
import type { CoreTransaction, PartitionCoreSettings, WindowProgress } from './core/core-messages.ts';
import { planOf } from './core/instrument.ts';
import { PartitionCore } from './core/partition-core.ts';
import { type PriceTargets, priceRecords } from './price-records.ts';
import { readInstrument, readTable, UnreadableRecords } from './read-table.ts';
import type { AnsweredSeries, KnownSeries, WindowDigests } from './read-windows.ts';
import { type MissedNotice, type MissedNotices, progressText, readProgress } from './window-progress.ts';

const GOLDEN_RATIO = 0.618_033_988_749_894_9;
const REGISTRY_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface PartitionTaskOptions {
  readonly partition: TopicPartition;
  readonly groupId: string;
  readonly transactionalId: string;
  readonly writer: TransactionalWriter;
  /** Resolves when the group confirms that we own the partition. So an earlier owner never fences the present owner. */
  readonly ownershipProof: OwnershipProof['since'];
  readonly committedOffset: (signal: AbortSignal) => Promise<CommittedOffset | null>;
  readonly reader: LogReader;
  readonly instrumentReader: PricedInstrumentReader;
  /** The core of an earlier task for the partition, or null. Its times and failures are copied to the new core. */
  readonly before?: PartitionCore | null;
  readonly readWindows: (answered: AnsweredSeries, signal: AbortSignal) => Promise<KnownSeries>;
  readonly missedNotices: MissedNotices;
  readonly caller: BulkCaller;
  readonly core: PartitionCoreSettings;
  readonly targets: PriceTargets;
  /** The maximum number of records that are read but not answered. At this number, reading waits for answers. */
  readonly maxUnanswered: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly signal: AbortSignal;
}

interface PriceSession {
  readonly core: PartitionCore;
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly over: AbortController;
}

/**
 * Gets the prices of one partition of instruments until the partition is lost. Each writer session fences the earlier
 * writer, reads the consumer offset and fills the table of instruments. Then the session requests prices, and commits
 * the prices with the consumer offset. A failed writer ends the session, and the next session begins.
 */
export class PartitionTask implements PartitionReader, WorkerTask {
  readonly #options: Omit<PartitionTaskOptions, 'before'>;
  readonly #moved = new Pulse();
  #session: PriceSession | null = null;
  #core: PartitionCore | null = null;
  /** The next offset that the consumer group reads. The core has received all records below this offset. */
  #position: bigint | null = null;
  #lag = 0;
  #unreadable = new UnreadableRecords();

  constructor({ before = null, ...options }: PartitionTaskOptions) {
    this.#options = options;
    this.#core = before;
  }

  /** The core of the newest session, or null. It stays after the session: the ages of its prices are still shown. */
  get core(): PartitionCore | null {
    return this.#core;
  }

  get lag(): number {
    return this.#lag;
  }

  get unreadable(): number {
    return this.#unreadable.instruments;
  }

  position(): bigint {
    return this.#position ?? 0n;
  }

  async begun(): Promise<PartitionReader> {
    while (this.#session === null) await this.#moved.next(this.#options.signal);
    return this;
  }

  /** Never resolves. Rejects with the signal's reason, or with an error that a retry cannot correct. */
  run(): Promise<void> {
    const { events, partition, committedOffset } = this.#options;
    return runWriterSessions({
      ...this.#options,
      readPosition: committedOffset,
      run: (session) => this.#runSession(session),
      lost: (err) => events.partitionWriterLost({ ...partition, err }),
    });
  }

  async take({ records, nextOffset, endOffset }: ReadBatch): Promise<void> {
    this.#lag = Number(endOffset - nextOffset);
    for (const record of records) {
      const read = await this.#read(record);
      const { id, news } = read;
      const { core } = await this.#sessionWithRoom();
      // Read only after this wait, because a new session replaces `#unreadable`.
      this.#unreadable.read(read, record.offset);
      core.read(record.offset, id, news, this.#options.clock.monotonicMs());
      this.#position = record.offset + 1n;
    }
    this.#unreadable.report(this.#options.partition, this.#options.events);
    const { core } = await this.#sessionWithRoom();
    core.passed(nextOffset);
    this.#position = nextOffset;
    this.#moved.notify();
  }

  async #runSession(opened: WriterSession<CommittedOffset | null>): Promise<never> {
    try {
      const session = await this.#begin(opened);
      this.#readAgainOnceSchemasAreFound(session);
      return await this.#work(session, opened.committed);
    } catch (error) {
      this.#session?.over.abort(error);
      throw error;
    } finally {
      this.#session = null;
    }
  }

  async #begin({ position, startedMs }: WriterSession<CommittedOffset | null>): Promise<PriceSession> {
    const { reader, partition, instrumentReader, clock, transactionalId, signal } = this.#options;
    const { offset, metadata } = position ?? { offset: 0n, metadata: '' };
    const until = this.#position !== null && this.#position > offset ? this.#position : offset;
    const table = await readTable({ reader, partition, instrumentReader, offset, until, signal });
    const { instruments, again, unreadable } = table;
    this.#unreadable = unreadable;
    const carried = this.#core?.earliestAnsweredMs() ?? new Map();
    const answered = { committed: readProgress(metadata), carried };
    const { windows, answeredMs } = await this.#options.readWindows(answered, signal);
    const nowMs = clock.monotonicMs();
    const start = { offset, instruments, phase: phaseOf(partition), before: this.#core?.instruments, answeredMs };
    const core = new PartitionCore(this.#options.core, start, nowMs);
    for (const record of again) {
      const read = await this.#read(record);
      unreadable.read(read, record.offset);
      core.read(record.offset, read.id, read.news, nowMs);
    }
    unreadable.report(partition, this.#options.events);
    core.passed(until);
    this.#position = until;
    const session = { core, windows, over: new AbortController() };
    this.#session = session;
    this.#core = core;
    this.#moved.notify();
    this.#options.events.partitionAssigned({
      ...partition,
      transactionalId,
      offset: String(offset),
      instruments: core.instruments.size,
      durationMs: nowMs - startedMs,
    });
    return session;
  }

  async #work(session: PriceSession, onCommitted: () => void): Promise<never> {
    const { clock, signal } = this.#options;
    const over = AbortSignal.any([signal, session.over.signal]);
    for (;;) {
      const step = session.core.next(clock.monotonicMs());
      if (step.kind === 'ask') this.#ask(session, step.batch, over);
      if (step.kind === 'commit') {
        await this.#commit(session, step.transaction);
        onCommitted();
      }
      if (step.kind === 'wait') await this.#moved.within(step.ms, clock, over);
      over.throwIfAborted();
    }
  }

  /** Does not wait for the answers. Each part of the answers goes to the core when the part arrives. */
  #ask({ core, over }: PriceSession, batch: Batch, signal: AbortSignal): void {
    const { kind } = batch;
    const questions = batch.questions.map((instrument) => {
      const { id, isin, terms } = instrument;
      const { currency, priceType } = terms;
      const answeredMs = kind === 'overview' ? undefined : planOf(instrument, kind).answeredMs;
      return { instrumentId: id, isin, currency, priceType, answeredMs };
    });
    const answered = (positions: readonly number[], outcomes: readonly QuestionOutcome[]) => {
      core.answered(batch, positions, outcomes);
      this.#moved.notify();
    };
    const isWanted = (at: number) => core.isWanted(batch, at);
    const asked = this.#options.caller.ask({ kind, questions, isWanted }, answered, signal);
    asked.catch((error: unknown) => over.abort(error));
  }

  async #commit({ core, windows }: PriceSession, transaction: CoreTransaction): Promise<void> {
    const { writer, groupId, partition, targets, clock, events } = this.#options;
    const { reported } = this.#options.core;
    const context = { input: partition, targets, windows, reported, wallMs: clock.wallMs() };
    const parts = transaction.parts.map((part) => priceRecords(part, context));
    const { offset, progress } = transaction;
    const notices = await this.#noticesOf(progress);
    const metadata = progress === null ? undefined : progressText(progress.answeredMs);
    const startedMs = clock.monotonicMs();
    const committing = writer.commit({
      records: [...parts.flatMap(({ records }) => records), ...notices.map(({ record }) => record)],
      consumerOffset: offset === null ? undefined : { groupId, ...partition, offset, metadata },
    });
    await committing.catch((error: unknown) => {
      for (const { withdraw } of notices) withdraw();
      throw error;
    });
    const nowMs = clock.monotonicMs();
    core.committed(transaction, nowMs);
    this.#moved.notify();
    for (const { event } of notices) events.windowsMissed(event);
    for (const { report } of parts) events.batchPriced({ ...report, commitMs: nowMs - startedMs });
  }

  async #noticesOf(progress: WindowProgress | null): Promise<readonly MissedNotice[]> {
    const { missedNotices, clock, signal } = this.#options;
    const notices: MissedNotice[] = [];
    for (const missed of progress?.missed ?? []) {
      const notice = await missedNotices(missed, clock.wallMs(), signal);
      if (notice !== null) notices.push(notice);
    }
    return notices;
  }

  /** Ends the session when the registry gets a missing schema. The next session can read the records of this schema. */
  #readAgainOnceSchemasAreFound({ over }: PriceSession): void {
    const { instrumentReader, clock, random } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, over.signal]);
    const load = (schemaId: number, asked: AbortSignal) => instrumentReader.load(schemaId, asked);
    this.#unreadable.schemaFound({ load, clock, random, signal }).then(
      (schemaId) => {
        const what = `The registry now has the missing schema id ${schemaId}. The table of instruments is filled again.`;
        over.abort(new ConnectorError('TABLE_INCOMPLETE', what, { fields: { schemaId } }));
        this.#moved.notify();
      },
      () => {},
    );
  }

  async #sessionWithRoom(): Promise<PriceSession> {
    const { maxUnanswered, signal } = this.#options;
    while (this.#session === null || this.#session.core.unanswered >= maxUnanswered) {
      this.#moved.notify();
      await this.#moved.next(signal);
    }
    return this.#session;
  }

  /** Retries until the registry answers, because the record cannot be read without its schema. */
  async #read(record: CommittedRecord) {
    const { partition, instrumentReader, clock, random, events, signal } = this.#options;
    let hasFailed = false;
    const attemptFailed = (failed: FailedAttempt) => {
      hasFailed = true;
      events.partitionReadFailed({ ...partition, ...failed });
    };
    const mayRetry = (error: unknown) => error instanceof ConnectorError && error.action !== 'stopSource';
    for (;;) {
      const read = readInstrument(record, instrumentReader);
      if (!('unknownSchemaId' in read)) {
        if (hasFailed) events.partitionReadAgain(partition);
        return read;
      }
      const load = () => untilAborted(instrumentReader.load(read.unknownSchemaId, signal), signal);
      await retry(load, { backOff: REGISTRY_BACK_OFF, mayRetry, attemptFailed, clock, random, signal });
    }
  }
}

/** The start of the partition's first slot, as a share of the refresh interval: 0 to 1. Spreads partitions evenly. */
function phaseOf({ partition }: TopicPartition): number {
  return (partition * GOLDEN_RATIO) % 1;
}
