import type { CompressionTypes, Kafka, Producer, Transaction } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { within } from '../../support/deadline.ts';
import type { Log } from '../../support/log.ts';
import { retry } from '../../support/retry.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { KafkaCluster } from '../cluster.ts';
import type { ConsumerOffset, TransactionalWriter, WriterOptions, WriterTransaction } from '../transactional-writer.ts';
import { CONCURRENT, isFenced, isOneOf, kafkaReason } from './kafkajs-errors.ts';
import {
  AbortHangingFailed,
  endAgain,
  fenceAndEnd,
  isCutOff,
  LastTransaction,
  type TouchingWay,
} from './kafkajs-hanging.ts';
import { giveUpAborting, type TopicFacts, topicRefused, writerRefused } from './refusals.ts';
import { planRounds, sendRound } from './send-plan.ts';
import { type KafkaTuning, kafkajsRetry, longestProofMs } from './tuning.ts';

/** After this many fencings by others in this time, another installation probably uses the same transactional id. */
const MAX_FENCINGS = 3;
const FENCINGS_WITHIN_MS = 5 * 60_000;

export interface KafkajsWriterOptions extends WriterOptions {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  readonly compression: CompressionTypes;
  readonly tuning: KafkaTuning;
  /** The maximum size of a record batch in bytes, by topic. Topics with an unknown limit have no entry. */
  readonly limits: ReadonlyMap<string, number>;
  readonly facts: TopicFacts;
  readonly topicIds: KafkaCluster['topicIds'];
  /** Writers that were opened and not closed. The client closes these writers when it closes. */
  readonly opened: Set<KafkajsWriter>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly clockSeen?: ((aheadMs: number) => void) | undefined;
}

/**
 * After a failure, a kafkajs producer can lose records silently. The producer can give the next batch the sequence
 * number of a batch that the broker kept. Then the broker drops the next batch as a duplicate. So a failure ends a producer.
 *
 * `open`: the new producer fences the earlier producer with the same transactional id, then the position is read.
 * `commit`: sends rounds. A round is one request to each broker; the last round has the source offset. Then sends the
 * consumer offset. Commits the transaction only after every partition has acknowledged every round.
 */
export class KafkajsWriter implements TransactionalWriter {
  readonly #options: KafkajsWriterOptions;
  #fencedAtMs: readonly number[] = [];
  /** The producer that may write; undefined before the first `open`, after any failure and after `close`. */
  #live: Producer | undefined;
  #opening: AbortController | undefined;
  #stopped = AbortSignal.abort();
  #openUnderWay: Promise<unknown> | undefined;
  #commitUnderWay: Promise<void> | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  readonly #working = new Set<Promise<unknown>>();
  readonly #last = new LastTransaction();
  /** The id of the topic that the consumer offset belongs to. This id is committed with the offset. */
  #inputId: string | null = null;

  constructor(options: KafkajsWriterOptions) {
    this.#options = options;
  }

  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position> {
    this.#opening?.abort(this.#closed('was opened again while it was opening'));
    this.#options.opened.add(this);
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
    const { clock, tuning } = this.#options;
    const late = () => new Error('kafkajs still waits for responses');
    const idle = Promise.allSettled(this.#working);
    await within(idle, tuning.disconnectMs, clock, late).catch((error) => this.#noteAbandoned(error));
    this.#options.opened.delete(this);
  }

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
      this.#inputId = await this.#topicIdOfPosition(signal);
      const position = await untilAborted(readPosition(signal), signal);
      signal.throwIfAborted();
      // After the proof of ownership, and after `readPosition`, which counts fencings by operators' commands (`excused`).
      this.#refuseWhenShared(this.#options.excused?.() ?? 0);
      this.#live = producer;
      this.#last.ended();
      return position;
    } catch (error) {
      this.#leaveBehind(producer, fenced);
      throw error;
    }
  }

  /** Throws WRITER_IDS_SHARED after too many fencings. The latest `excused` fencings do not count. */
  #refuseWhenShared(excused: number): void {
    const { clock, transactionalId } = this.#options;
    const sinceMs = clock.monotonicMs() - FENCINGS_WITHIN_MS;
    const others = this.#fencedAtMs.slice(0, Math.max(0, this.#fencedAtMs.length - excused));
    const recent = others.filter((fencedAtMs) => fencedAtMs > sinceMs);
    this.#fencedAtMs = recent.length < MAX_FENCINGS ? recent : [];
    if (recent.length < MAX_FENCINGS) return;
    throw new ConnectorError(
      'WRITER_IDS_SHARED',
      `Another installation with the same prefix took over the transactional id ${transactionalId} ${MAX_FENCINGS} times ` +
        'in five minutes. Give each installation its own topic prefix, then start this source again.',
      { fields: { transactionalId } },
    );
  }

  async #topicIdOfPosition(signal: AbortSignal): Promise<string | null> {
    const { abortHangingOffset: input, topicIds } = this.#options;
    return input === undefined ? null : ((await topicIds([input.topic], signal)).get(input.topic) ?? null);
  }

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
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? -1,
    });
  }

  /** Fails at the first request without a response. kafkajs would repeat the request several times on this connection. */
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
    for (const round of planRounds(written, { ...tuning, maxBatchBytes: (topic) => limits.get(topic) })) {
      this.#mustBeLive(producer);
      const appendedMs = await sendRound(transaction, round, compression);
      this.#last.wasWritten();
      if (appendedMs !== null) this.#options.clockSeen?.(appendedMs - this.#options.clock.wallMs());
    }
    if (consumerOffset) {
      const isAlone = written.records.length === 0 && written.sourceOffset === undefined;
      await sendConsumerOffset(this.#options, transaction, consumerOffset, this.#inputId, () => {
        this.#mustBeLive(producer);
        // The disconnected broker perhaps lacks the markers of the previous transaction. Then `open` ends hanging records.
        if (isAlone && isCutOff(producer)) throw new Error('a connection was lost before the offset was added');
      });
    }
    await this.#proveOwnership(Number.NEGATIVE_INFINITY, this.#stopped);
    this.#mustBeLive(producer);
    this.#last.ended();
    await transaction.commit();
  }

  /** Throws if the transaction was abandoned: an abandoned transaction must not commit when the broker answers. */
  #mustBeLive(producer: Producer): void {
    if (this.#live !== producer) throw new Error('the writer was abandoned or opened again during this commit');
  }

  /** Sends no abort: an abort can overtake a produce request. Disconnects after `work`, which would connect again. */
  #leaveBehind(producer: Producer | undefined, work: Promise<void> | undefined): void {
    if (producer === undefined) return;
    if (this.#live === producer) this.#live = undefined;
    const ended = Promise.allSettled([work]).finally(() => this.#working.delete(ended));
    this.#working.add(ended);
    ended.then(() => producer.disconnect()).catch((error) => this.#noteAbandoned(error));
  }

  #noteAbandoned(error: unknown): void {
    this.#options.log.debug(this.#fields({ reason: kafkaReason(error) }), 'producer abandoned');
  }

  #failed(ageMs: number, cause: unknown): ConnectorError {
    const { clock, transactionalId, tuning } = this.#options;
    const fenced = isFenced(cause) && ageMs < tuning.transactionTimeoutMs;
    if (fenced) this.#fencedAtMs = [...this.#fencedAtMs, clock.monotonicMs()];
    if (isFenced(cause)) this.#last.ended();
    return new ConnectorError(
      fenced ? 'WRITER_FENCED' : 'TRANSACTION_FAILED',
      `The transaction of ${transactionalId} failed after ${Math.round(ageMs)} ms (${kafkaReason(cause)}). ` +
        'The writer opens again, and the committed offset shows if the transaction was committed.',
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

/**
 * The coordinator refuses the offset while the previous transaction still ends. This function repeats the request,
 * because kafkajs does not repeat it. The producer stays usable after such a refusal. `mayWrite` is called before each
 * request and throws if the transaction must not continue.
 */
async function sendConsumerOffset(
  { clock, random, tuning }: { readonly clock: Clock; readonly random: Random; readonly tuning: KafkaTuning },
  transaction: Transaction,
  { groupId, topic, partition, offset, metadata }: ConsumerOffset,
  topicId: string | null,
  mayWrite: () => void,
): Promise<void> {
  const text = metadata === undefined ? topicId : `${topicId ?? ''} ${metadata}`;
  const topics = [{ topic, partitions: [{ partition, offset: String(offset), metadata: text }] }];
  const backOff = { initialMs: tuning.initialRetryMs, maximumMs: tuning.maxRetryMs };
  const send = async () => {
    mayWrite();
    await transaction.sendOffsets({ consumerGroupId: groupId, topics });
  };
  return retry(send, {
    backOff,
    attempts: tuning.retries + 1,
    mayRetry: (error) => isOneOf(CONCURRENT, error),
    clock,
    random,
  });
}
