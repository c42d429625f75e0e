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
        const ahead = new Map([...ends].filter(([, { low, high }]) => low < high).map(([p, { high }]) => [p, high]));
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

type Ends = ReadonlyMap<number, { readonly low: bigint; readonly high: bigint }>;

/** The ends of the partitions. kafkajs gives up at once where a partition has no leader, as for a moment after its creation or a failover. */
export async function findEnds(
  options: OwnGroupOptions,
  request: Pick<ReadToEnd, 'topic' | 'partitions'>,
  signal: AbortSignal,
): Promise<Ends> {
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
  { topic, partitions }: Pick<ReadToEnd, 'topic' | 'partitions'>,
): Promise<Ends> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    const found = new Map((await admin.fetchTopicOffsets(topic)).map((offsets) => [offsets.partition, offsets]));
    return new Map(
      partitions.map((partition) => {
        const offsets = found.get(partition);
        if (offsets === undefined) throw new Error(`topic ${topic} has no partition ${partition}`);
        return [partition, { low: BigInt(offsets.low), high: BigInt(offsets.high) }];
      }),
    );
  } finally {
    admin.disconnect().catch(() => {});
  }
}

/** Reads until every partition has passed its end in `ahead`. */
async function consume(
  options: OwnGroupOptions,
  { topic, onRecord, signal }: ReadToEnd,
  ahead: Map<number, bigint>,
  stalled: StallWatch,
  groups: Set<Promise<void>>,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const group = openOwnGroup(options, {
    topic,
    partitions: [...ahead.keys()],
    waitMs: options.tuning.readWaitMs,
    fresh: new FreshRecords(),
    groups,
    onRecord,
    onPassed(partition, lastOffset) {
      stalled.moved();
      const high = ahead.get(partition);
      if (high !== undefined && lastOffset + 1n >= high) ahead.delete(partition);
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
