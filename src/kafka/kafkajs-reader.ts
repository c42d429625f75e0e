import { ConnectorError } from '../errors.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { FreshRecords } from './fresh-records.ts';
import { isLeaderless, kafkaReason } from './kafkajs-errors.ts';
import { type OwnGroupOptions, openOwnGroup, ReadRefused } from './kafkajs-own-group.ts';
import type { LogReader, ReadToEnd } from './log-reader.ts';
import { StallWatch } from './stall-watch.ts';
import { kafkajsRetry } from './tuning.ts';

/** Between two questions for the ends while a partition has no leader. */
const LEADER_POLL_MS = 50;

/**
 * Reads committed records to the end with a kafkajs consumer in a group of its own.
 *
 * The end is the broker's last stable offset, asked for after the call began. It is reached when the consumer has passed
 * it, control records, aborted records and batches emptied by compaction included; that is told by kafkajs' event at the
 * end of a batch and by nothing else, since the last visible record may lie far before the end.
 */
export function createKafkajsReader(options: OwnGroupOptions): LogReader & { close(): Promise<void> } {
  const closing = new AbortController();
  const groups = new Set<Promise<void>>();
  return {
    async readToEnd(request) {
      const signal = AbortSignal.any([request.signal, closing.signal]);
      signal.throwIfAborted();
      const stalled = new StallWatch(options.tuning.readStallMs, options.clock);
      try {
        const stop = AbortSignal.any([signal, stalled.signal]);
        const ends = await untilAborted(findEnds(options, request, stop), stop);
        stalled.moved();
        const ahead = new Map([...ends].filter(([, { low, high }]) => low < high));
        if (ahead.size > 0) await consume(options, { ...request, signal: stop }, ahead, stalled, groups);
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
      await Promise.allSettled(groups);
    },
  };
}

type EndsAskedFor = Pick<ReadToEnd, 'topic' | 'partitions' | 'sinceMs'>;
type Ends = ReadonlyMap<number, { readonly low: bigint; readonly high: bigint }>;

/**
 * Where the partitions begin (`low`) and end. kafkajs gives up at once where a partition has no leader, as for a moment
 * after its creation or a failover.
 */
export async function findEnds(options: OwnGroupOptions, request: EndsAskedFor, signal: AbortSignal): Promise<Ends> {
  for (;;) {
    try {
      return await askForEnds(options, request);
    } catch (error) {
      if (!isLeaderless(error)) throw error;
      await options.clock.sleep(LEADER_POLL_MS, signal);
    }
  }
}

async function askForEnds(
  { kafka, tuning }: OwnGroupOptions,
  { topic, partitions, sinceMs }: EndsAskedFor,
): Promise<Ends> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    const found = new Map((await admin.fetchTopicOffsets(topic)).map((offsets) => [offsets.partition, offsets]));
    const since = sinceMs === undefined ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, Math.floor(sinceMs));
    const begins = new Map(since.map(({ partition, offset }) => [partition, offset]));
    return new Map(
      partitions.map((partition) => {
        const offsets = found.get(partition);
        if (offsets === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
        return [partition, { low: BigInt(begins.get(partition) ?? offsets.low), high: BigInt(offsets.high) }];
      }),
    );
  } finally {
    admin.disconnect().catch(() => {});
  }
}

/** Reads until every partition has passed its end in `ahead`. */
async function consume(
  options: OwnGroupOptions,
  { topic, sinceMs, onRecord, room, signal }: ReadToEnd,
  ahead: Map<number, { readonly low: bigint; readonly high: bigint }>,
  stalled: StallWatch,
  groups: Set<Promise<void>>,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const fresh = new FreshRecords();
  for (const [partition, { low }] of ahead) fresh.passOver(partition, low);
  const group = openOwnGroup(options, {
    topic,
    partitions: [...ahead.keys()],
    waitMs: options.tuning.readWaitMs,
    fresh,
    ...(sinceMs !== undefined && { startAt: new Map([...ahead].map(([partition, { low }]) => [partition, low])) }),
    groups,
    onRecord,
    room,
    onHeldBack: () => stalled.moved(),
    onPassed(partition, lastOffset) {
      stalled.moved();
      const end = ahead.get(partition);
      if (end !== undefined && lastOffset + 1n >= end.high) ahead.delete(partition);
      if (ahead.size > 0) return;
      // Stopped before the next fetch begins, or disconnecting would have to wait for that.
      group.stop();
      done.resolve();
    },
  });
  try {
    await untilAborted(Promise.race([done.promise, group.failed]), signal);
  } finally {
    group.leave();
  }
}

function unreachable(topic: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'KAFKA_UNREACHABLE',
    `Topic ${topic} could not be read to its end (${kafkaReason(cause)}). Check kafka.brokers and that the topic exists.`,
    { cause, fields: { topic } },
  );
}
