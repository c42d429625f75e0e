import { randomUUID } from 'node:crypto';
import type { Consumer, IHeaders, Kafka, KafkaMessage, PartitionAssigner } from 'kafkajs';
import { ConnectorError } from '../errors.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../support/clock.ts';
import { isLeaderless, kafkaReason } from './kafkajs-errors.ts';
import type { LogReader, ReadToEnd } from './log-reader.ts';
import type { CommittedRecord } from './record.ts';
import { StallWatch } from './stall-watch.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';
import { untilAborted, within } from './within.ts';

type Kafkajs = typeof import('kafkajs');

export interface KafkajsReaderOptions {
  readonly kafkajs: Kafkajs;
  readonly kafka: Kafka;
  readonly clientId: string;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
  readonly log: Log;
}

/** Bytes of one fetch; more than kafkajs asks for by default, since a reader reads everything that is there. */
const MAX_BYTES_PER_PARTITION = 4 * 1024 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** Between two questions for the ends while a partition has no leader. */
const LEADER_POLL_MS = 50;

/**
 * Reads committed records to the end with a kafkajs consumer, which knows no reading without a group: each call has a
 * group of its own, is assigned exactly the partitions asked for, and deletes the group afterwards.
 *
 * The end is the broker's last stable offset, asked for after the call began. It is reached when the consumer has passed
 * it, control records, aborted records and batches emptied by compaction included; that is told by kafkajs' event at the
 * end of a batch and by nothing else, since the last visible record may lie far before the end.
 */
export function createKafkajsReader(options: KafkajsReaderOptions): LogReader & { close(): Promise<void> } {
  const closing = new AbortController();
  const cleanUps = new Set<Promise<void>>();
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
        if (ahead.size > 0) await consume(options, { ...request, signal: stop }, ahead, stalled, cleanUps);
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
      await Promise.allSettled(cleanUps);
    },
  };
}

/** What `onRecord` threw: it goes to the caller as it is. */
class ReadRefused extends Error {}

type Ends = ReadonlyMap<number, { readonly low: bigint; readonly high: bigint }>;

/** kafkajs gives up at once where a partition has no leader, as for a moment after its creation or a failover. */
async function findEnds(options: KafkajsReaderOptions, request: ReadToEnd, signal: AbortSignal): Promise<Ends> {
  for (;;) {
    try {
      return await askForEnds(options, request);
    } catch (error) {
      if (!isLeaderless(error)) throw error;
      await options.clock.sleep(LEADER_POLL_MS, signal);
    }
  }
}

async function askForEnds({ kafka, tuning }: KafkajsReaderOptions, { topic, partitions }: ReadToEnd): Promise<Ends> {
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
  options: KafkajsReaderOptions,
  { topic, onRecord, signal }: ReadToEnd,
  ahead: Map<number, bigint>,
  stalled: StallWatch,
  cleanUps: Set<Promise<void>>,
): Promise<void> {
  const { kafka, tuning } = options;
  const groupId = `${options.clientId}-reader-${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [assignOnly(options.kafkajs, topic, [...ahead.keys()])],
    sessionTimeout: tuning.sessionTimeoutMs,
    heartbeatInterval: tuning.heartbeatIntervalMs,
    maxWaitTimeInMs: tuning.readWaitMs,
    maxBytesPerPartition: MAX_BYTES_PER_PARTITION,
    maxBytes: MAX_BYTES,
    allowAutoTopicCreation: false,
    retry: { ...kafkajsRetry(tuning), restartOnFailure: async () => false },
  });
  const done = Promise.withResolvers<void>();
  // A group that is joined again starts at the beginning again; what was given already is not given twice.
  const nextOffsets = new Map<number, bigint>();
  let over = false;
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error));
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    stalled.moved();
    const high = ahead.get(payload.partition);
    if (high !== undefined && BigInt(payload.lastOffset) + 1n >= high) ahead.delete(payload.partition);
    if (ahead.size > 0) return;
    // Stopped before the next fetch begins, or disconnecting would have to wait for that.
    consumer.stop().catch(() => {});
    done.resolve();
  });
  const run = async () => {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) {
          if (over) return;
          const record = committedRecord(topic, batch.partition, message);
          if (record.offset < (nextOffsets.get(batch.partition) ?? 0n)) continue;
          nextOffsets.set(batch.partition, record.offset + 1n);
          try {
            onRecord(record);
          } catch (cause) {
            over = true;
            done.reject(new ReadRefused('onRecord threw', { cause }));
          }
        }
      },
    });
  };
  const running = run();
  running.catch(done.reject);
  try {
    await untilAborted(done.promise, signal);
  } finally {
    over = true;
    const cleanUp = removeGroup(options, consumer, groupId, running).finally(() => cleanUps.delete(cleanUp));
    cleanUps.add(cleanUp);
  }
}

/** An assigner that gives the only member of the group just these partitions of the topic. */
function assignOnly({ AssignerProtocol }: Kafkajs, topic: string, partitions: number[]): PartitionAssigner {
  const name = 'asked-for';
  const version = 1;
  const userData = Buffer.alloc(0);
  return () => ({
    name,
    version,
    protocol: ({ topics }) => ({
      name,
      metadata: AssignerProtocol.MemberMetadata.encode({ version, topics, userData }),
    }),
    assign: async ({ members }) =>
      members.slice(0, 1).map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version,
          assignment: { [topic]: partitions },
          userData,
        }),
      })),
  });
}

/** Best effort: the broker forgets an empty group without offsets by itself. */
async function removeGroup(
  { kafka, tuning, clock, log }: KafkajsReaderOptions,
  consumer: Consumer,
  groupId: string,
  running: Promise<void>,
): Promise<void> {
  const remove = async () => {
    // A consumer that is still connecting would connect again after a disconnect.
    await running.catch(() => {});
    await consumer.disconnect();
    const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
    try {
      await admin.connect();
      await admin.deleteGroups([groupId]);
    } finally {
      await admin.disconnect();
    }
  };
  const late = () => new Error('kafkajs still waits for answers');
  await within(remove(), tuning.disconnectMs, clock, late).catch((error) =>
    log.debug({ groupId, reason: kafkaReason(error) }, 'the group of a reader was left to the broker'),
  );
}

function committedRecord(topic: string, partition: number, message: KafkaMessage): CommittedRecord {
  return {
    topic,
    partition,
    key: message.key,
    value: message.value,
    headers: headerTexts(message.headers),
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
  };
}

/** Of a header that stands there several times, the last one. */
function headerTexts(headers: IHeaders | undefined): Record<string, string> {
  const texts = Object.entries(headers ?? {}).map(([name, value]) => [name, String([value].flat().at(-1) ?? '')]);
  return Object.fromEntries(texts);
}

function unreachable(topic: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'KAFKA_UNREACHABLE',
    `Topic ${topic} could not be read to its end (${kafkaReason(cause)}). Check kafka.brokers and that the topic exists.`,
    { cause, fields: { topic } },
  );
}
