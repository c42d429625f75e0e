import type { Kafka } from 'kafkajs';
import { uniqueName } from './raw-kafkajs-cluster.ts';

export interface RawReading {
  /** Keys and values of partition 0 as raw kafkajs' read_committed consumer gave them, in order. */
  readonly records: { readonly offset: number; readonly key: string | null; readonly value: string | null }[];
  /** False when the deadline came first. */
  readonly reachedEnd: boolean;
}

/**
 * Reads partition 0 with raw kafkajs' consumer from the beginning until its position reaches `end`, or the deadline.
 * The consumer's group is deleted afterwards.
 */
export async function readWithRawConsumer(
  kafka: Kafka,
  options: { readonly topic: string; readonly end: number; readonly withinMs: number },
): Promise<RawReading> {
  const groupId = uniqueName('raw-reader');
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: 100,
    sessionTimeout: 6_000,
    heartbeatInterval: 1_000,
    allowAutoTopicCreation: false,
  });
  const records: RawReading['records'] = [];
  const { promise: reached, resolve: reach } = Promise.withResolvers<boolean>();
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    if (Number(payload.lastOffset) + 1 >= options.end) reach(true);
  });
  await consumer.connect();
  await consumer.subscribe({ topic: options.topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message }) => {
      records.push({
        offset: Number(message.offset),
        key: message.key?.toString() ?? null,
        value: message.value?.toString() ?? null,
      });
    },
  });
  const deadline = setTimeout(() => reach(false), options.withinMs);
  const reachedEnd = await reached;
  clearTimeout(deadline);
  await consumer.disconnect();
  const admin = kafka.admin();
  await admin.connect();
  await admin.deleteGroups([groupId]);
  await admin.disconnect();
  return { records, reachedEnd };
}
