import type { PricedInstrumentReader } from '../avro/priced-instrument-reader.ts';
import { ConnectorError } from '../errors.ts';
import type { PartitionReader, ReadBatch } from '../kafka/group-reader.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { OwnershipProof } from '../kafka/ownership-proof.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { WorkerTask } from '../worker/membership.ts';
import { runWriterSessions, type WriterSession } from '../worker/writer-sessions.ts';
import type { BatchResponses } from './batch-responses.ts';
import type { BulkCaller } from './bulk-caller.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { Batch } from './core/batch.ts';
import type { CoreTransaction, PartitionCoreSettings } from './core/core-messages.ts';
import { PartitionCore } from './core/partition-core.ts';
import { readInstrument } from './instrument-news.ts';
import { type PriceTargets, priceRecords } from './price-records.ts';
import { type PartitionTable, readTable } from './read-table.ts';
import { UnreadableRecords } from './unreadable-records.ts';
import type { WindowDigests } from './window-digests.ts';

/** Its multiples, without their whole part, lie evenly between 0 and 1. */
const GOLDEN_RATIO = 0.618_033_988_749_894_9;
const REGISTRY_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface PartitionTaskOptions {
  readonly partition: TopicPartition;
  readonly groupId: string;
  readonly transactionalId: string;
  /** Opens only with the same proof as below. */
  readonly writer: TransactionalWriter;
  /** The proof that the partition is still ours, without which we would fence the next owner. */
  readonly ownershipProof: OwnershipProof['since'];
  /** To be asked while the writer opens. */
  readonly committedOffset: (signal: AbortSignal) => Promise<bigint | null>;
  readonly reader: LogReader;
  readonly instrumentReader: PricedInstrumentReader;
  /** Takes the table up to this offset, if it was read before the partition was assigned; at the first session only. */
  readonly tableAhead?: (offset: bigint) => Promise<PartitionTable | null>;
  /** What the topics of series hold for this partition, of the kinds that are series. */
  readonly readWindows: (signal: AbortSignal) => Promise<ReadonlyMap<PriceKind, WindowDigests>>;
  readonly caller: BulkCaller;
  readonly core: PartitionCoreSettings;
  readonly targets: PriceTargets;
  /** Records that may be read and unanswered at a time; reading waits for more to be answered. */
  readonly maxUnanswered: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ProcessorEvents;
  /** Aborts when the partition is lost. */
  readonly signal: AbortSignal;
}

/** What lives between two openings of the writer. */
interface PriceSession {
  readonly core: PartitionCore;
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly over: AbortController;
}

/**
 * One partition of instruments, priced, from its assignment until it is lost. One session is: fence, read the committed
 * offset, fill the table; then ask for batches, commit each answer with its offset in one transaction, again. Whatever
 * goes wrong with the writer ends the session and drops all that was asked for.
 */
export class PartitionTask implements PartitionReader, WorkerTask {
  readonly #options: PartitionTaskOptions;
  readonly #moved = new Pulse();
  #session: PriceSession | null = null;
  #core: PartitionCore | null = null;
  /** Where the group reads on; everything below has been given to a core. */
  #position: bigint | null = null;
  #lag = 0;
  #unreadable = new UnreadableRecords();

  constructor(options: PartitionTaskOptions) {
    this.#options = options;
  }

  /** Of the last session while the writer is opening, since prices grow old meanwhile; null before the first one. */
  get core(): PartitionCore | null {
    return this.#core;
  }

  /** Records of the partition that were not read yet, as of the last fetch. */
  get lag(): number {
    return this.#lag;
  }

  /** Instruments whose newest record cannot be read. */
  get unreadable(): number {
    return this.#unreadable.instruments;
  }

  position(): bigint {
    return this.#position ?? 0n;
  }

  /** Resolves when the first session has begun. */
  async begun(): Promise<PartitionReader> {
    while (this.#session === null) await this.#moved.next(this.#options.signal);
    return this;
  }

  /** Never resolves: rejects with the signal's reason, or with an error that no repetition mends. */
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
      // Only now: the session that it was read in may be over, and what cannot be read with it.
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

  async #runSession(opened: WriterSession<bigint | null>): Promise<never> {
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

  /** Fills the table up to the committed offset. */
  async #begin({ position, startedMs }: WriterSession<bigint | null>): Promise<PriceSession> {
    const { reader, partition, instrumentReader, clock, transactionalId, signal } = this.#options;
    const offset = position ?? 0n;
    const until = this.#position !== null && this.#position > offset ? this.#position : offset;
    const ahead = await untilAborted(this.#options.tableAhead?.(offset) ?? Promise.resolve(null), signal);
    const { instruments, again, unreadable } =
      ahead ?? (await readTable({ reader, partition, instrumentReader, offset, until, signal }));
    this.#unreadable = unreadable;
    const windows = await this.#options.readWindows(signal);
    const nowMs = clock.monotonicMs();
    const start = { offset, instruments, phase: phaseOf(partition), before: this.#core?.instruments };
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
      isReadAhead: ahead !== null,
      durationMs: nowMs - startedMs,
    });
    return session;
  }

  /** The loop: ask for what is due, commit what is answered, wait for the next of either. */
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

  /** Answers come in their own time and in parts; no transaction is open meanwhile. */
  #ask({ core, over }: PriceSession, batch: Batch, signal: AbortSignal): void {
    const { kind, isAlone } = batch;
    const questions = batch.questions.map(({ id, isin, terms: { currency, priceType } }) => {
      return { instrumentId: id, isin, currency, priceType };
    });
    const answered = (from: number, answers: BatchResponses) => {
      core.answered(batch, from, answers);
      this.#moved.notify();
    };
    const asked = this.#options.caller.ask({ kind, questions, isAlone }, answered, signal);
    asked.catch((error: unknown) => over.abort(error));
  }

  /** Results, dead letters and the consumer offset, in one transaction. */
  async #commit({ core, windows }: PriceSession, transaction: CoreTransaction): Promise<void> {
    const { writer, groupId, partition, targets, clock, events } = this.#options;
    const context = { input: partition, targets, windows, wallMs: clock.wallMs() };
    const parts = transaction.parts.map((part) => priceRecords(part, context));
    const { offset } = transaction;
    const startedMs = clock.monotonicMs();
    await writer.commit({
      records: parts.flatMap(({ records }) => records),
      consumerOffset: offset === null ? undefined : { groupId, ...partition, offset },
    });
    const nowMs = clock.monotonicMs();
    const failing = core.committed(transaction, nowMs);
    this.#moved.notify();
    for (const { report } of parts) events.batchPriced({ ...report, commitMs: nowMs - startedMs });
    for (const event of failing) events.instrumentFailing(event);
  }

  /** Instruments whose schema was missing are in no table: with the schema, the session ends and the next one reads them. */
  #readAgainOnceSchemasAreFound({ over }: PriceSession): void {
    const { instrumentReader, clock, random } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, over.signal]);
    const load = (schemaId: number, asked: AbortSignal) => instrumentReader.load(schemaId, asked);
    this.#unreadable.schemaFound({ load, clock, random, signal }).then(
      (schemaId) => {
        const what = `The registry has schema id ${schemaId} now, which was missing: the table is filled again.`;
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

  /** A schema that is not known yet is asked for until the registry answers: without it, the record cannot be read. */
  async #read(record: CommittedRecord) {
    const { instrumentReader, clock, random, events, signal } = this.#options;
    const attemptFailed = (failed: FailedAttempt) => events.processorAttemptFailed({ ...failed, isMember: true });
    const mayRetry = (error: unknown) => error instanceof ConnectorError && error.action !== 'stopSource';
    for (;;) {
      const read = readInstrument(record, instrumentReader);
      if (!('unknownSchemaId' in read)) return read;
      const load = () => untilAborted(instrumentReader.load(read.unknownSchemaId, signal), signal);
      await retry(load, { backOff: REGISTRY_BACK_OFF, mayRetry, attemptFailed, clock, random, signal });
    }
  }
}

/** Partitions ask at different times of an interval, however many there are. */
function phaseOf({ partition }: TopicPartition): number {
  return (partition * GOLDEN_RATIO) % 1;
}
