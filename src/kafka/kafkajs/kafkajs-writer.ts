import type { CompressionTypes, Kafka, Producer } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { within } from '../../support/deadline.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { ConnectedWriter } from '../open-writers.ts';
import type { TopicLimits } from '../topic-limits.ts';
import type { WriterOptions, WriterTransaction } from '../transactional-writer.ts';
import { FencingWatch } from './fencing-watch.ts';
import { isFenced, kafkaReason } from './kafkajs-errors.ts';
import { AbortHangingFailed, endAgain, fenceAndEnd, isCutOff, type TouchingWay } from './kafkajs-hanging.ts';
import { sendConsumerOffset } from './kafkajs-transaction-offset.ts';
import { AbandonedProducers } from './produce/abandoned-producers.ts';
import { planRounds } from './send-plan.ts';
import { sendRound } from './send-round.ts';
import { giveUpAborting, type TopicFacts, topicRefused } from './topic-refusal.ts';
import { LastTransaction } from './transactions/last-transaction.ts';
import { type KafkaTuning, kafkajsRetry, longestProofMs } from './tuning.ts';
import { writerRefused } from './writer-refusal.ts';

export interface KafkajsWriterOptions extends WriterOptions {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  readonly compression: CompressionTypes;
  readonly tuning: KafkaTuning;
  readonly limits: Pick<TopicLimits, 'of'>;
  readonly facts: TopicFacts;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How far the broker's clock is ahead of that of this machine, as each response to records shows it. */
  readonly clockSeen?: ((aheadMs: number) => void) | undefined;
}

/**
 * The transactional writer over kafkajs.
 *
 * A kafkajs producer can lose records silently after any failure: the broker kept a batch whose response was lost,
 * kafkajs takes its sequence number back, and the next batch is acknowledged as a duplicate of the aborted one. So no
 * failure counts as harmless: after any rejection the producer is abandoned and never used again (except for one
 * refusal, see kafkajs-transaction-offset.ts).
 *
 * Opening: a new producer under the same transactional id, whose first request makes the broker fence the earlier
 * holder and end its open transaction; only then is the position read, so that nothing can be committed behind it.
 *
 * Committing: in rounds of one request to each broker, each sent once (produce/send-messages.ts), the source offset in
 * the last; then a consumer offset, and the commit only when every partition has acknowledged every round (kafkajs
 * resolves without sending when it does not know the partition). The fence protects against a process that is no longer
 * the owner. The proof of ownership before the begin and the commit only lets that process know sooner.
 */
export class KafkajsWriter implements ConnectedWriter {
  readonly #options: KafkajsWriterOptions;
  readonly #fencings: FencingWatch;
  /** The producer that may write. Undefined before the first `open`, after any failure and after `close`. */
  #live: Producer | undefined;
  #opening: AbortController | undefined;
  /** Aborts when the owner ends, and when the writer is opened again or closed. */
  #stopped = AbortSignal.abort();
  #openUnderWay: Promise<unknown> | undefined;
  #commitUnderWay: Promise<void> | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  readonly #abandoned: AbandonedProducers;
  readonly #last = new LastTransaction();

  constructor(options: KafkajsWriterOptions) {
    this.#options = options;
    this.#fencings = new FencingWatch(options.transactionalId);
    this.#abandoned = new AbandonedProducers(options, this.#fields({}));
  }

  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position> {
    this.#opening?.abort(this.#closed('was opened again while it was opening'));
    const opened = this.#openUntilDeadline(readPosition, signal);
    this.#openUnderWay = opened;
    return opened;
  }

  async #openUntilDeadline<Position>(
    readPosition: (signal: AbortSignal) => Promise<Position>,
    signal: AbortSignal,
  ): Promise<Position> {
    const { clock, random, tuning } = this.#options;
    this.#leaveBehind(this.#live, this.#commitUnderWay);
    const opening = new AbortController();
    this.#opening = opening;
    const deadlineMs = tuning.transactionTimeoutMs + tuning.openGraceMs;
    const deadlineAtMs = clock.monotonicMs() + deadlineMs;
    const stopped = AbortSignal.any([signal, opening.signal]);
    this.#stopped = stopped;
    for (let failures = 1; ; failures++) {
      const leftMs = deadlineAtMs - clock.monotonicMs();
      const attempt = new AbortController();
      try {
        const late = () => new Error(`no response within ${deadlineMs} ms`);
        const attemptSignal = AbortSignal.any([stopped, attempt.signal]);
        const way = failures === 1 ? 'together' : 'oneByOne';
        return await within(this.#openOnce(readPosition, way, attemptSignal), leftMs, clock, late);
      } catch (cause) {
        attempt.abort(cause);
        if (!opening.signal.aborted) this.#leaveBehind(this.#live, undefined);
        stopped.throwIfAborted();
        this.#failedAtMs = clock.monotonicMs();
        if (cause instanceof ConnectorError && cause.action !== 'retry') throw cause;
        const refused = writerRefused(cause, this.#options);
        if (refused !== undefined) throw refused;
        if (cause instanceof AbortHangingFailed) await giveUpAborting(cause, this.#options);
        stopped.throwIfAborted();
        const waitMs = backOffMs(failures, tuning.openBackOff, random);
        if (clock.monotonicMs() + waitMs >= deadlineAtMs) throw this.#unreachable(deadlineMs, cause);
        this.#options.log.warn(
          this.#fields({ failures, waitMs, reason: kafkaReason(cause) }),
          'writer did not open yet',
        );
        await clock.sleep(waitMs, stopped);
      }
    }
  }

  async commit(transaction: WriterTransaction): Promise<void> {
    const { clock, facts, tuning } = this.#options;
    const producer = this.#live;
    if (producer === undefined) throw this.#closed('is not open');
    if (this.#commitUnderWay) throw this.#closed('is in the middle of another commit; commit one after the other');
    const { records, sourceOffset, consumerOffset } = transaction;
    if (records.length === 0 && sourceOffset === undefined && consumerOffset === undefined) return;
    const beganAtMs = clock.monotonicMs();
    const work = this.#runTransaction(producer, transaction);
    this.#commitUnderWay = work;
    try {
      const late = () =>
        new Error(`the transaction took longer than its time-out of ${tuning.transactionTimeoutMs} ms`);
      await within(this.#unlessUnanswered(producer, work), tuning.transactionTimeoutMs, clock, late);
    } catch (cause) {
      this.#failedAtMs = clock.monotonicMs();
      if (this.#live === producer) this.#leaveBehind(producer, work);
      if (this.#commitUnderWay === work) this.#commitUnderWay = undefined;
      const topics = [...new Set([...records, ...(sourceOffset ? [sourceOffset] : [])].map(({ topic }) => topic))];
      const refused = writerRefused(cause, this.#options) ?? (await topicRefused(cause, topics, facts));
      throw refused ?? this.#failed(this.#failedAtMs - beganAtMs, cause);
    } finally {
      if (this.#commitUnderWay === work) this.#commitUnderWay = undefined;
    }
  }

  async close(): Promise<void> {
    this.#opening?.abort(this.#closed('was closed while it was opening'));
    await this.#openUnderWay?.catch(() => {});
    while (this.#commitUnderWay) await this.#commitUnderWay.catch(() => {});
    this.#leaveBehind(this.#live, undefined);
    await this.#abandoned.idle();
  }

  disconnected(): Promise<void> {
    return this.#abandoned.disconnected();
  }

  /** One attempt: the proof of ownership, a new producer, the fence, and then the position. */
  async #openOnce<Position>(
    readPosition: (signal: AbortSignal) => Promise<Position>,
    way: TouchingWay,
    signal: AbortSignal,
  ): Promise<Position> {
    await untilAborted(this.#proveOwnership(this.#failedAtMs, signal), signal);
    signal.throwIfAborted();
    const producer = this.#newProducer();
    const fenced = fenceAndEnd(producer, this.#last, this.#options, way);
    try {
      await untilAborted(this.#unlessUnanswered(producer, fenced), signal);
      const position = await untilAborted(readPosition(signal), signal);
      signal.throwIfAborted();
      // Only now: a fencing by a rightful owner does not count, which the proof has shown, and the operators' fencings are
      // marked beside the position.
      this.#fencings.excuse(this.#options.excused?.() ?? 0);
      this.#fencings.refuseWhenShared(this.#options.clock.monotonicMs());
      this.#live = producer;
      this.#last.ended();
      return position;
    } catch (error) {
      this.#leaveBehind(producer, fenced);
      throw error;
    }
  }

  /** Waits for proof, newer than that moment and not too old, that the transactional id is still ours. */
  async #proveOwnership(sinceMs: number, signal: AbortSignal): Promise<void> {
    const { ownershipProof, clock, tuning } = this.#options;
    const oldestMs = clock.monotonicMs() - longestProofMs(tuning);
    await ownershipProof?.(Math.max(sinceMs, oldestMs), signal);
  }

  #newProducer(): Producer {
    const { kafka, transactionalId, tuning } = this.#options;
    return kafka.producer({
      transactionalId,
      maxInFlightRequests: 1,
      transactionTimeout: tuning.transactionTimeoutMs,
      retry: kafkajsRetry(tuning),
      allowAutoTopicCreation: false,
      // Every record names its partition; kafkajs never chooses.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? -1,
    });
  }

  /**
   * The outcome of a producer's work, or a failure as soon as one of its requests gets no response in time. kafkajs
   * itself would send it again on the same silent connection, six times.
   */
  async #unlessUnanswered(producer: Producer, work: Promise<void>): Promise<void> {
    const unanswered = new AbortController();
    const text = `a request got no response within ${this.#options.tuning.requestTimeoutMs} ms`;
    const removeListener = producer.on(producer.events.REQUEST_TIMEOUT, () => unanswered.abort(new Error(text)));
    try {
      await untilAborted(work, unanswered.signal);
    } finally {
      removeListener();
    }
  }

  async #runTransaction(producer: Producer, { consumerOffset, ...written }: WriterTransaction): Promise<void> {
    const { compression, limits, tuning } = this.#options;
    await this.#proveOwnership(Number.NEGATIVE_INFINITY, this.#stopped);
    this.#mustBeLive(producer);
    await endAgain(producer, this.#options);
    this.#mustBeLive(producer);
    const transaction = await producer.transaction();
    for (const round of planRounds(written, { ...tuning, maxBatchBytes: (topic) => limits.of(topic) })) {
      this.#mustBeLive(producer);
      const appendedMs = await sendRound(transaction, round, compression);
      this.#last.wasWritten();
      if (appendedMs !== null) this.#options.clockSeen?.(appendedMs - this.#options.clock.wallMs());
    }
    if (consumerOffset) {
      const isAlone = written.records.length === 0 && written.sourceOffset === undefined;
      await sendConsumerOffset(this.#options, transaction, consumerOffset, () => {
        this.#mustBeLive(producer);
        // It would begin once the transaction before has ended, perhaps without its markers at a lost broker.
        if (isAlone && isCutOff(producer)) throw new Error('a connection was lost before the offset was added');
      });
    }
    await this.#proveOwnership(Number.NEGATIVE_INFINITY, this.#stopped);
    this.#mustBeLive(producer);
    this.#last.ended();
    await transaction.commit();
  }

  /** Without this check, an abandoned transaction could go on sending, and even commit, once the broker answers again. */
  #mustBeLive(producer: Producer): void {
    if (this.#live !== producer) throw new Error('the writer was given up or opened again during this commit');
  }

  #leaveBehind(producer: Producer | undefined, work: Promise<void> | undefined): void {
    if (producer === undefined) return;
    if (this.#live === producer) this.#live = undefined;
    this.#abandoned.add(producer, work);
  }

  #failed(ageMs: number, cause: unknown): ConnectorError {
    const { clock, transactionalId, tuning } = this.#options;
    const fenced = isFenced(cause) && ageMs < tuning.transactionTimeoutMs;
    if (fenced) this.#fencings.record(clock.monotonicMs());
    if (isFenced(cause)) this.#last.ended();
    return new ConnectorError(
      fenced ? 'WRITER_FENCED' : 'TRANSACTION_FAILED',
      `The transaction of ${transactionalId} failed after ${Math.round(ageMs)} ms (${kafkaReason(cause)}). ` +
        'Whether it was committed is unknown; open the writer again to read the committed position.',
      { cause, fields: this.#fields({ ageMs }) },
    );
  }

  #unreachable(deadlineMs: number, cause: unknown): ConnectorError {
    return new ConnectorError(
      'KAFKA_UNREACHABLE',
      `The writer ${this.#options.transactionalId} could not be opened within ${deadlineMs} ms (${kafkaReason(cause)}). ` +
        'Check kafka.brokers, the network and the brokers themselves.',
      { cause, fields: this.#fields({}) },
    );
  }

  #closed(what: string): ConnectorError {
    return new ConnectorError('WRITER_CLOSED', `The writer ${this.#options.transactionalId} ${what}.`);
  }

  #fields(more: Record<string, unknown>): Record<string, unknown> {
    return { transactionalId: this.#options.transactionalId, ...more };
  }
}
