import type { IsinReader } from '../avro/isin-reader.ts';
import { ConnectorError } from '../errors.ts';
import type { PartitionReader, ReadBatch } from '../kafka/group-reader.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { OwnershipProof } from '../kafka/ownership-proof.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { BatchAnswers } from './batch-answers.ts';
import type { BulkCaller } from './bulk-caller.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { Batch } from './core/batch.ts';
import type { CoreSettings, CoreTransaction } from './core/core-messages.ts';
import { PartitionCore } from './core/partition-core.ts';
import { readInstrument } from './instrument-news.ts';
import { type PriceTargets, priceRecords } from './price-records.ts';
import { readTable } from './read-table.ts';
import { UnreadableRecords } from './unreadable-records.ts';
import type { WindowDigests } from './window-digests.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** Its multiples, without their whole part, lie evenly between 0 and 1. */
const GOLDEN_RATIO = 0.618_033_988_749_894_9;
const REGISTRY_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface PartitionTaskOptions {
  readonly partition: TopicPartition;
  readonly groupId: string;
  readonly transactionalId: string;
  /** Opens only with the same proof as below. */
  readonly writer: TransactionalWriter;
  /** The proof that the partition is still ours, without which we would fence our heir. */
  readonly ownershipProof: OwnershipProof['since'];
  /** To be asked while the writer opens. */
  readonly committedOffset: (signal: AbortSignal) => Promise<bigint | null>;
  readonly reader: LogReader;
  readonly isins: IsinReader;
  /** What the topics of series hold for this partition, of the kinds that are series. */
  readonly readWindows: (signal: AbortSignal) => Promise<ReadonlyMap<PriceKind, WindowDigests>>;
  readonly caller: BulkCaller;
  readonly core: CoreSettings;
  readonly targets: PriceTargets;
  /** Records that may be read and unanswered at a time; reading waits for more to be answered. */
  readonly maxUnanswered: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ProcessorEvents;
  /** Aborts when the partition is lost. */
  readonly signal: AbortSignal;
}

/** What stands between two openings of the writer. */
interface Lap {
  readonly core: PartitionCore;
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly over: AbortController;
}

/**
 * One partition of instruments, priced, from its assignment until it is lost. One lap is: fence, read the committed
 * offset, fill the table; then ask for batches, commit each answer with its offset in one transaction, again. Whatever
 * goes wrong with the writer ends the lap and drops all that was asked for; the next begins from what is truly committed.
 */
export class PartitionTask implements PartitionReader {
  readonly #options: PartitionTaskOptions;
  readonly #moved = new Pulse();
  #lap: Lap | null = null;
  #core: PartitionCore | null = null;
  /** Where the group reads on; everything below has been given to a core. */
  #position: bigint | null = null;
  #lag = 0;
  #unreadable = new UnreadableRecords();

  constructor(options: PartitionTaskOptions) {
    this.#options = options;
  }

  /** Of the last lap while the writer is opening, since prices grow old meanwhile; null before the first one. */
  get core(): PartitionCore | null {
    return this.#core;
  }

  /** Records of the partition that were not read yet, as far as the last fetch tells. */
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

  /** Resolves when the first lap has begun. */
  async begun(): Promise<void> {
    while (this.#lap === null) await this.#moved.next(this.#options.signal);
  }

  /** @returns never: rejects with the signal's reason, or with an error that no repetition mends. */
  async run(): Promise<never> {
    const { writer, ownershipProof, clock, random, events, partition, signal } = this.#options;
    try {
      for (let failures = 1; ; failures++) {
        try {
          const lap = await this.#begin();
          this.#readAgainOnceSchemasAreFound(lap);
          await this.#work(lap, () => {
            failures = 0;
          });
        } catch (error) {
          this.#lap?.over.abort(error);
          this.#lap = null;
          signal.throwIfAborted();
          if (!isRecoverable(error)) throw error;
          events.partitionWriterLost({ ...partition, err: error });
          // Not every failure is one of the writer, which waits for proof since its own.
          const failedMs = clock.monotonicMs();
          await clock.sleep(backOffMs(Math.max(failures, 1), REOPEN_BACK_OFF, random), signal);
          await ownershipProof(failedMs, signal);
        }
      }
    } finally {
      this.#lap?.over.abort(signal.reason);
      this.#lap = null;
      await writer.close();
    }
  }

  async take({ records, nextOffset, endOffset }: ReadBatch): Promise<void> {
    this.#lag = Number(endOffset - nextOffset);
    for (const record of records) {
      const read = await this.#read(record);
      const { id, news } = read;
      const { core } = await this.#lapWithRoom();
      // Only now: the lap that it was read in may be over, and what cannot be read with it.
      this.#unreadable.read(read, record.offset);
      core.read(record.offset, id, news, this.#options.clock.monotonicMs());
      this.#position = record.offset + 1n;
    }
    this.#unreadable.tell(this.#options.partition, this.#options.events);
    const { core } = await this.#lapWithRoom();
    core.passed(nextOffset);
    this.#position = nextOffset;
    this.#moved.notify();
  }

  /** Fences whoever held the partition, then reads the committed offset, then the table up to it. */
  async #begin(): Promise<Lap> {
    const { writer, committedOffset, reader, partition, isins, clock, transactionalId, signal } = this.#options;
    const startedMs = clock.monotonicMs();
    const offset = (await writer.open(committedOffset, signal)) ?? 0n;
    const until = this.#position !== null && this.#position > offset ? this.#position : offset;
    const { instruments, again, unreadable } = await readTable({ reader, partition, isins, offset, until, signal });
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
    unreadable.tell(partition, this.#options.events);
    core.passed(until);
    this.#position = until;
    const lap = { core, windows, over: new AbortController() };
    this.#lap = lap;
    this.#core = core;
    this.#moved.notify();
    this.#options.events.partitionAssigned({
      ...partition,
      transactionalId,
      offset: String(offset),
      instruments: core.instruments.size,
      durationMs: nowMs - startedMs,
    });
    return lap;
  }

  /** The loop: ask for what is due, commit what is answered, wait for the next of either. */
  async #work(lap: Lap, onCommitted: () => void): Promise<never> {
    const { clock, signal } = this.#options;
    const over = AbortSignal.any([signal, lap.over.signal]);
    for (;;) {
      const step = lap.core.next(clock.monotonicMs());
      if (step.kind === 'ask') this.#ask(lap, step.batch, over);
      if (step.kind === 'commit') {
        await this.#commit(lap, step.transaction);
        onCommitted();
      }
      if (step.kind === 'wait') await this.#moved.within(step.ms, clock, over);
      over.throwIfAborted();
    }
  }

  /** Answers come in their own time and in parts; no transaction is open meanwhile. */
  #ask({ core, over }: Lap, batch: Batch, signal: AbortSignal): void {
    const { kind, isAlone } = batch;
    const questions = batch.questions.map(({ id, isin }) => ({ instrumentId: id, isin }));
    const answered = (from: number, answers: BatchAnswers) => {
      core.answered(batch, from, answers);
      this.#moved.notify();
    };
    const asked = this.#options.caller.ask({ kind, questions, isAlone }, answered, signal);
    asked.catch((error: unknown) => over.abort(error));
  }

  /** Results, dead letters and the consumer offset, in one transaction. */
  async #commit({ core, windows }: Lap, transaction: CoreTransaction): Promise<void> {
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

  /** Instruments whose schema was missing are in no table: with the schema, the lap ends and the next one reads them. */
  #readAgainOnceSchemasAreFound({ over }: Lap): void {
    const { isins, clock, random } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, over.signal]);
    const load = (schemaId: number, asked: AbortSignal) => isins.load(schemaId, asked);
    this.#unreadable.schemaFound({ load, clock, random, signal }).then(
      (schemaId) => {
        const what = `The registry has schema id ${schemaId} now, which was missing: the table is filled again.`;
        over.abort(new ConnectorError('TABLE_INCOMPLETE', what, { fields: { schemaId } }));
        this.#moved.notify();
      },
      () => {},
    );
  }

  async #lapWithRoom(): Promise<Lap> {
    const { maxUnanswered, signal } = this.#options;
    while (this.#lap === null || this.#lap.core.unanswered >= maxUnanswered) {
      this.#moved.notify();
      await this.#moved.next(signal);
    }
    return this.#lap;
  }

  /** A schema that is not known yet is asked for until the registry answers: without it, nobody knows what was read. */
  async #read(record: CommittedRecord) {
    const { isins, clock, random, events, signal } = this.#options;
    for (let failures = 1; ; failures++) {
      const read = readInstrument(record, isins);
      if (!('unknownSchemaId' in read)) return read;
      try {
        await untilAborted(isins.load(read.unknownSchemaId, signal), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError) || error.action === 'stopSource') throw error;
        const waitMs = backOffMs(failures, REGISTRY_BACK_OFF, random);
        events.processorAttemptFailed({ failures, waitMs, err: error, isMember: true });
        await clock.sleep(waitMs, signal);
      }
    }
  }
}

/** Partitions ask at different times of an interval, however many there are. */
function phaseOf({ partition }: TopicPartition): number {
  return (partition * GOLDEN_RATIO) % 1;
}

function isRecoverable(error: unknown): error is ConnectorError {
  if (!(error instanceof ConnectorError)) return false;
  return ['reopenWriter', 'retry', 'retrySlowly'].includes(error.action);
}
