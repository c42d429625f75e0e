import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka } from 'kafkajs';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { FreshRecords } from './fresh-records.ts';
import type { GroupSharing } from './group-sharing.ts';
import { assignerOf } from './kafkajs-assigner.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { committedRecord } from './kafkajs-record.ts';
import type { CommittedRecord } from './record.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';
import { within } from './within.ts';

/*
 * kafkajs knows no reading without a consumer group. So whoever reads partitions without sharing them opens a group for
 * it, whose only member is assigned exactly these partitions, and removes it afterwards.
 */

type Kafkajs = typeof import('kafkajs');

export interface OwnGroupOptions {
  readonly kafkajs: Kafkajs;
  readonly kafka: Kafka;
  readonly clientId: string;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OwnGroupRequest {
  readonly topic: string;
  readonly partitions: readonly number[];
  /** How long a fetch waits for data, and therefore what leaving costs at most. */
  readonly waitMs: number;
  /** A group that is joined again starts at the beginning again; what was given already is not given twice. */
  readonly fresh: FreshRecords;
  /** Where to begin, by partition; at the beginning where absent. What lies below may still be fetched once. */
  readonly startAt?: ReadonlyMap<number, bigint>;
  readonly onRecord: (record: CommittedRecord) => void;
  /** Awaited after each batch: what it fetches next has room then. */
  readonly room?: (() => Promise<void>) | undefined;
  /** Told now and then while there is no room: that nothing comes is nobody's fault then. */
  readonly onHeldBack?: () => void;
  /** Told when everything up to this offset has been passed, control and aborted records included. */
  readonly onPassed?: (partition: number, lastOffset: bigint) => void;
  /** Told of every fetch that was answered, with or without records. */
  readonly onFetched?: () => void;
  /** Holds a promise from now on until the group is removed: whoever closes the client waits for it. */
  readonly groups: Set<Promise<void>>;
}

export interface OwnGroup {
  /** Rejects when the consumer has crashed, or with ReadRefused; never resolves. */
  readonly failed: Promise<never>;
  /** Lets no further fetch begin, so that leaving need not wait for one. */
  stop(): void;
  /** Gives no further record, and removes the group in its own time. To be called once. */
  leave(): void;
}

/** What `onRecord` threw is its cause: it goes to the caller as it is. */
export class ReadRefused extends Error {}

/**
 * Bytes of one fetch, as they lie on the broker. Records are dropped as soon as they are seen, but memory comes back only
 * later: with 4 MiB, readers of six full partitions left 100 MiB more behind, and were no faster.
 */
const MAX_BYTES_PER_PARTITION = 512 * 1024;
const MAX_BYTES = 4 * 1024 * 1024;

/** Begins to read; needs no answer yet. */
export function openOwnGroup(options: OwnGroupOptions, request: OwnGroupRequest): OwnGroup {
  const { kafka, kafkajs, tuning } = options;
  const { topic, partitions, fresh, onRecord, groups } = request;
  const groupId = `${options.clientId}-reader-${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [assignerOf(kafkajs, allForFirst(topic, partitions), () => false)],
    sessionTimeout: tuning.sessionTimeoutMs,
    heartbeatInterval: tuning.heartbeatIntervalMs,
    maxWaitTimeInMs: request.waitMs,
    maxBytesPerPartition: MAX_BYTES_PER_PARTITION,
    maxBytes: MAX_BYTES,
    allowAutoTopicCreation: false,
    retry: { ...kafkajsRetry(tuning), restartOnFailure: async () => false },
  });
  const removed = Promise.withResolvers<void>();
  groups.add(removed.promise);
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  let over = false;
  consumer.on(consumer.events.CRASH, ({ payload }) => failed.reject(payload.error));
  consumer.on(consumer.events.FETCH, () => request.onFetched?.());
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
    request.onPassed?.(payload.partition, BigInt(payload.lastOffset)),
  );
  /** The group must hear of its member meanwhile, or it would be joined anew and read from the beginning. */
  const whileHeldBack = async (room: Promise<void>, heartbeat: () => Promise<void>): Promise<void> => {
    const over = new AbortController();
    const beat = async (): Promise<never> => {
      for (;;) {
        await options.clock.sleep(tuning.heartbeatIntervalMs, over.signal);
        request.onHeldBack?.();
        await heartbeat();
      }
    };
    beat().catch(() => {});
    await room.finally(() => over.abort());
  };
  const run = async () => {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        for (const message of batch.messages) {
          if (over) return;
          const record = committedRecord(topic, batch.partition, message);
          if (!fresh.isFresh(record)) continue;
          try {
            onRecord(record);
          } catch (cause) {
            over = true;
            failed.reject(new ReadRefused('onRecord threw', { cause }));
          }
        }
        if (request.room !== undefined) await whileHeldBack(request.room(), heartbeat);
      },
    });
    for (const [partition, offset] of request.startAt ?? []) {
      consumer.seek({ topic, partition, offset: String(offset) });
    }
  };
  const running = run();
  running.catch(failed.reject);
  return {
    failed: failed.promise,
    stop() {
      consumer.stop().catch(() => {});
    },
    leave() {
      over = true;
      removeGroup(options, consumer, groupId, running).then(() => {
        groups.delete(removed.promise);
        removed.resolve();
      }, removed.reject);
    },
  };
}

/** The only member of the group gets just these partitions of the topic. */
function allForFirst(topic: string, partitions: readonly number[]): GroupSharing {
  const all = partitions.map((partition) => ({ topic, partition }));
  return {
    name: 'asked-for',
    describe: () => '',
    assign: (members) => new Map(members.slice(0, 1).map(({ id }) => [id, all])),
  };
}

/** Best effort: the broker forgets an empty group without offsets by itself. */
async function removeGroup(
  { kafka, tuning, clock, log }: OwnGroupOptions,
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
