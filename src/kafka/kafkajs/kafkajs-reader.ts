import { ConnectorError } from '../../errors.ts';
import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { StallWatch } from '../../support/deadline.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { LogReader, LogTail, ReadToEnd } from '../log-reader.ts';
import { isOneOf, kafkaReason, LEADERLESS, UNKNOWN_TOPIC } from './kafkajs-errors.ts';
import { transactionHangs } from './kafkajs-hanging.ts';
import type { Bounds, FetchedPart, LogClient, OpenLogClient } from './kafkajs-log-client.ts';
import { topicDeleted } from './refusals.ts';
import { type KafkaTuning, longestOpenMs } from './tuning.ts';

const LEADER_POLL_MS = 50;
/** After the creation of a topic, some brokers do not know the topic for a moment. */
const UNKNOWN_TOPIC_PATIENCE_MS = 5_000;

interface KafkajsReaderOptions {
  readonly openClient: OpenLogClient;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Reads topics without a consumer group. Each call has its own connection. `readToEnd` counts control records, aborted
 * records and compacted records as read. `readToEnd` replaces a failed connection in three cases: this connection made
 * progress; a partition has no leader; the topic is unknown for a moment. Otherwise `readToEnd` throws. `follow`
 * replaces every connection that fails or stalls, because kafkajs would use the dead connection forever.
 */
export function createKafkajsReader(options: KafkajsReaderOptions): LogReader & LogTail & { close(): void } {
  const { clock, log, random, tuning } = options;
  const closing = new AbortController();
  const begin = <Request extends { readonly signal: AbortSignal }>(request: Request) => {
    const signal = AbortSignal.any([request.signal, closing.signal]);
    signal.throwIfAborted();
    return { ...request, signal };
  };
  return {
    async readToEnd(given) {
      const request = begin(given);
      const reading = new Reading(request, options);
      const stalled = new StallWatch(tuning.readStallMs, clock);
      try {
        for (let before = reading.progress(); ; before = reading.progress()) {
          const cause = await reading.through(stalled);
          if (cause === undefined) return;
          if (cause instanceof ReadRefused) throw cause;
          if (!reading.mayRetry(cause) && reading.progress() <= before) throw cause;
          await clock.sleep(LEADER_POLL_MS, AbortSignal.any([request.signal, stalled.signal]));
        }
      } catch (cause) {
        request.signal.throwIfAborted();
        throw cause instanceof ReadRefused ? cause.cause : unreachable(request.topic, cause);
      } finally {
        stalled.end();
      }
    },
    async follow({ onlyNew = false, ...given }) {
      const request = begin(given);
      const { topic, signal } = request;
      const reading = new Reading({ ...request, ...(onlyNew && { newest: 0 }), isEndless: true }, options);
      for (let failures = 1; ; failures++) {
        const before = reading.fetches;
        const stalled = new StallWatch(tuning.readStallMs, clock);
        const cause = await reading.through(stalled).finally(() => stalled.end());
        signal.throwIfAborted();
        if (cause instanceof ReadRefused) throw cause.cause;
        // No connection has found the topic's end yet. A later connection would skip records that arrive in between.
        if (onlyNew && reading.progress() < 0n && !isOneOf(LEADERLESS, cause)) throw unreachable(topic, cause);
        if (reading.fetches > before) failures = 1;
        const waitMs = backOffMs(failures, tuning.tailBackOff, random);
        log.warn({ topic, failures, waitMs, err: unreachable(topic, cause) }, 'reading a topic failed, trying again');
        await clock.sleep(waitMs, signal);
      }
    },
    close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while reading.'));
    },
  };
}

interface ReadRequest extends ReadToEnd {
  readonly isEndless?: boolean;
}

class Reading {
  readonly #request: ReadRequest;
  readonly #options: KafkajsReaderOptions;
  readonly #positions = new Map<number, bigint>();
  readonly #beganMs: number;
  #movedMs: number;
  /** The bounds of each partition, as the first connection found them. */
  #ends: ReadonlyMap<number, Bounds> | undefined;
  fetches = 0;

  constructor(request: ReadRequest, options: KafkajsReaderOptions) {
    this.#request = request;
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
    this.#movedMs = this.#beganMs;
  }

  /** The result grows with each offset that is read, and when `#ends` becomes known. */
  progress(): bigint {
    if (this.#ends === undefined) return -1n;
    let read = 0n;
    for (const [partition, { low, high }] of this.#ends) read += (this.#positions.get(partition) ?? high) - low;
    return read;
  }

  mayRetry(error: unknown): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - this.#beganMs;
    return isOneOf(LEADERLESS, error) || (isOneOf(UNKNOWN_TOPIC, error) && sinceMs < UNKNOWN_TOPIC_PATIENCE_MS);
  }

  /** Reads with one connection. @returns undefined at the end, or an error: ReadRefused if a retry cannot help. */
  async through(stalled: StallWatch): Promise<unknown> {
    const { topic, toHighWatermark, signal } = this.#request;
    const client = this.#options.openClient(topic, toHighWatermark);
    const ended = new AbortController();
    const until = AbortSignal.any([signal, stalled.signal, ended.signal]);
    try {
      await untilAborted(this.#begin(client), until);
      stalled.moved();
      // All leaders are read in parallel, so a slow leader delays no other leader. If one read fails, all reads end.
      const leaders = [...client.byLeader([...this.#positions.keys()])];
      await Promise.all(
        leaders.map(([leader, partitions]) =>
          this.#readLed(client, leader, partitions, stalled, until).catch((error: unknown) => {
            ended.abort(error);
            throw error;
          }),
        ),
      );
      return undefined;
    } catch (error) {
      return error;
    } finally {
      client.close();
    }
  }

  async #begin(client: LogClient): Promise<void> {
    const { partitions, sinceMs, newest, isEndless } = this.#request;
    await client.connect();
    const bounds = await client.bounds(partitions, sinceMs);
    if (this.#ends !== undefined) return keepWithin(this.#positions, bounds);
    this.#ends = bounds;
    for (const [partition, { low, high }] of bounds) {
      const tail = newest === undefined ? low : high - BigInt(newest);
      if (low < high || isEndless) this.#positions.set(partition, tail > low ? tail : low);
    }
  }

  async #readLed(
    client: LogClient,
    leader: number,
    partitions: readonly number[],
    stalled: StallWatch,
    signal: AbortSignal,
  ): Promise<void> {
    const { readWaitMs, tailWaitMs } = this.#options.tuning;
    const waitMs = this.#request.isEndless ? tailWaitMs : readWaitMs;
    for (;;) {
      signal.throwIfAborted();
      const from = new Map([...this.#positions].filter(([partition]) => partitions.includes(partition)));
      if (from.size === 0) return;
      const before = this.progress();
      const parts = await untilAborted(client.fetch(leader, from, waitMs), signal);
      stalled.moved();
      for (const part of parts) await this.#deliver(part, stalled, signal);
      this.fetches += 1;
      if (this.progress() > before) this.#movedMs = this.#options.clock.monotonicMs();
      this.#mustProgress();
    }
  }

  async #deliver({ partition, records, nextOffset }: FetchedPart, stalled: StallWatch, signal: AbortSignal) {
    const { onRecord, room, isEndless } = this.#request;
    for (const record of records) {
      signal.throwIfAborted();
      this.#positions.set(partition, record.offset + 1n);
      try {
        onRecord(record);
      } catch (cause) {
        throw new ReadRefused('onRecord threw', { cause });
      }
    }
    this.#positions.set(partition, nextOffset);
    const end = this.#ends?.get(partition)?.high;
    if (!isEndless && end !== undefined && nextOffset >= end) this.#positions.delete(partition);
    if (room !== undefined && records.length > 0) await untilAborted(stalled.whileHeld(room()), signal);
  }

  /** Throws if no offset was read for longer than a transaction can stay open: then a transaction hangs. */
  #mustProgress(): void {
    const { clock, tuning } = this.#options;
    const { topic, toHighWatermark } = this.#request;
    const waitedMs = clock.monotonicMs() - this.#movedMs;
    if (!toHighWatermark || this.#positions.size === 0 || waitedMs < longestOpenMs(tuning)) return;
    const cause = transactionHangs(topic, [...this.#positions.keys()], Math.round(waitedMs));
    throw new ReadRefused('an open transaction does not end', { cause });
  }
}

/** Another connection would not help. The caller gets the cause of this error unchanged. */
class ReadRefused extends Error {}

/** Skips offsets that were deleted meanwhile. If the topic was created again and is shorter, continues at its end. */
function keepWithin(positions: Map<number, bigint>, bounds: ReadonlyMap<number, Bounds>): void {
  for (const [partition, position] of positions) {
    const { low, high } = bounds.get(partition) ?? { low: position, high: position };
    positions.set(partition, position < low ? low : position > high ? high : position);
  }
}

function unreachable(topic: string, cause: unknown): ConnectorError {
  if (isOneOf(UNKNOWN_TOPIC, cause)) return topicDeleted(cause, [topic], 'it cannot be read');
  return new ConnectorError(
    'KAFKA_UNREACHABLE',
    `Topic ${topic} could not be read to its end (${kafkaReason(cause)}). Check kafka.brokers.`,
    { cause, fields: { topic } },
  );
}
