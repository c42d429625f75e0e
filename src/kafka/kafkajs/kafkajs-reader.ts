import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import { StallWatch } from '../../support/deadline.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { LogReader, ReadToEnd } from '../log-reader.ts';
import type { Bounds, LogClient, OpenLogClient } from '../log-reading.ts';
import { ReadRefused, readOn } from '../log-reading.ts';
import { isOneOf, kafkaReason, LEADERLESS, UNKNOWN_TOPIC } from './kafkajs-errors.ts';
import { transactionHangs } from './kafkajs-hanging.ts';
import { OpenClients } from './open-clients.ts';
import { type KafkaTuning, longestOpenMs } from './tuning.ts';

/** The wait before the next connection while a partition has no leader. */
const LEADER_POLL_MS = 50;
/** A topic that was created a moment ago is not known to every broker yet. */
const UNKNOWN_TOPIC_PATIENCE_MS = 5_000;

export interface KafkajsReaderOptions {
  readonly openClient: OpenLogClient;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
}

/**
 * Reads committed records to the end, each reading through a connection of its own.
 *
 * The end is requested after the call began (see `ReadToEnd.behindOpen`). It is reached when the reading has passed
 * it, control records, aborted records and batches emptied by compaction included; the last visible record may be far
 * before the end. A connection that fails after some progress is replaced, and the reading goes on where it was. One
 * without progress fails the reading, unless a partition merely has no leader for a moment, or the topic is not known yet.
 */
export function createKafkajsReader(options: KafkajsReaderOptions): LogReader & { close(): Promise<void> } {
  const closing = new AbortController();
  const clients = new OpenClients();
  return {
    async readToEnd(request) {
      const signal = AbortSignal.any([request.signal, closing.signal]);
      signal.throwIfAborted();
      const stalled = new StallWatch(options.tuning.readStallMs, options.clock);
      try {
        const reading = new Reading(
          { ...request, signal: AbortSignal.any([signal, stalled.signal]) },
          options,
          stalled,
        );
        while (!(await reading.advance(clients)));
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof ReadRefused) throw cause.cause;
        if (cause instanceof ConnectorError) throw cause;
        throw unreachable(request.topic, cause);
      } finally {
        stalled.end();
      }
    },
    async close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while reading.'));
      await clients.closed();
    },
  };
}

/** One reading, over all its connections. */
class Reading {
  readonly #request: ReadToEnd;
  readonly #options: KafkajsReaderOptions;
  readonly #stalled: StallWatch;
  readonly #positions = new Map<number, bigint>();
  readonly #beganMs: number;
  /** When a fetch brought something last. */
  #movedMs: number;
  /** As the first connection found them. */
  #ends: ReadonlyMap<number, Bounds> | undefined;

  constructor(request: ReadToEnd, options: KafkajsReaderOptions, stalled: StallWatch) {
    this.#request = request;
    this.#options = options;
    this.#stalled = stalled;
    this.#beganMs = options.clock.monotonicMs();
    this.#movedMs = this.#beganMs;
  }

  /** Reads through one connection; true when the end was reached, false when another connection must go on. */
  async advance(clients: OpenClients): Promise<boolean> {
    const { topic, signal } = this.#request;
    const client = this.#options.openClient(topic, this.#request.behindOpen);
    const before = this.#progress();
    try {
      await clients.using(client, async () => {
        await untilAborted(this.#begin(client), signal);
        await this.#readOn(client);
      });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ReadRefused || !(this.#passes(error) || this.#progress() > before)) throw error;
      await this.#options.clock.sleep(LEADER_POLL_MS, signal);
      return false;
    }
  }

  /** Whether the failure passes with time. */
  #passes(error: unknown): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - this.#beganMs;
    return isOneOf(LEADERLESS, error) || (isOneOf(UNKNOWN_TOPIC, error) && sinceMs < UNKNOWN_TOPIC_PATIENCE_MS);
  }

  async #begin(client: LogClient): Promise<void> {
    const { partitions, sinceMs, newest } = this.#request;
    await client.connect();
    const bounds = await client.bounds(partitions, sinceMs);
    this.#stalled.moved();
    if (this.#ends !== undefined) return keepWithin(this.#positions, bounds);
    this.#ends = bounds;
    for (const [partition, { low, high }] of bounds) {
      const tail = newest === undefined ? low : high - BigInt(newest);
      if (low < high) this.#positions.set(partition, tail > low ? tail : low);
    }
  }

  async #readOn(client: LogClient): Promise<void> {
    const { onRecord, room, signal } = this.#request;
    let before = this.#progress();
    await readOn({
      client,
      positions: this.#positions,
      waitMs: this.#options.tuning.readWaitMs,
      onRecord,
      room,
      onFetched: () => {
        for (const [partition, position] of this.#positions) {
          const end = this.#ends?.get(partition)?.high;
          if (end !== undefined && position >= end) this.#positions.delete(partition);
        }
        const progress = this.#progress();
        if (progress > before) this.#movedMs = this.#options.clock.monotonicMs();
        before = progress;
        this.#mustMove();
      },
      stalled: this.#stalled,
      signal,
    });
  }

  /** Nothing comes while a transaction is open: its coordinator ends it in time, unless it hangs. */
  #mustMove(): void {
    const { clock, tuning } = this.#options;
    const { topic, behindOpen } = this.#request;
    const waitedMs = clock.monotonicMs() - this.#movedMs;
    if (!behindOpen || this.#positions.size === 0 || waitedMs < longestOpenMs(tuning)) return;
    const cause = transactionHangs(topic, [...this.#positions.keys()], Math.round(waitedMs));
    throw new ReadRefused('an open transaction does not end', { cause });
  }

  /** Grows with each read offset, and when the ends are known. */
  #progress(): bigint {
    if (this.#ends === undefined) return -1n;
    let read = 0n;
    for (const [partition, { low, high }] of this.#ends) read += (this.#positions.get(partition) ?? high) - low;
    return read;
  }
}

/** Offsets that were deleted meanwhile are skipped. A log that is shorter now, as after its creation again, is awaited. */
export function keepWithin(positions: Map<number, bigint>, bounds: ReadonlyMap<number, Bounds>): void {
  for (const [partition, position] of positions) {
    const { low, high } = bounds.get(partition) ?? { low: position, high: position };
    positions.set(partition, position < low ? low : position > high ? high : position);
  }
}

function unreachable(topic: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'KAFKA_UNREACHABLE',
    `Topic ${topic} could not be read to its end (${kafkaReason(cause)}). Check kafka.brokers and that the topic exists.`,
    { cause, fields: { topic } },
  );
}
