import type { Kafka } from 'kafkajs';
import { eventually } from '../runner/eventually.ts';
import { uniqueName } from './raw-kafkajs-cluster.ts';

export interface RawReading {
  /** Keys and values of partition 0 as raw kafkajs' read_committed consumer gave them, in order. */
  readonly records: { readonly offset: number; readonly key: string | null; readonly value: string | null }[];
  /** False when the reading was given up. */
  readonly reachedEnd: boolean;
}

/**
 * Reads partition 0 with raw kafkajs' consumer from the beginning until its position reaches `end`, or until `isStuck`
 * says that it never will.
 *
 * @throws Error when neither happens in time.
 */
export async function readWithRawConsumer(
  kafka: Kafka,
  options: {
    readonly topic: string;
    readonly end: number;
    readonly isStuck?: (records: RawReading['records']) => boolean;
  },
): Promise<RawReading> {
  const consumer = kafka.consumer({
    groupId: uniqueName('raw-reader'),
    maxWaitTimeInMs: 100,
    sessionTimeout: 6_000,
    heartbeatInterval: 1_000,
    allowAutoTopicCreation: false,
  });
  const records: RawReading['records'] = [];
  let reachedEnd = false;
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    if (Number(payload.lastOffset) + 1 >= options.end) reachedEnd = true;
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
  const isOver = () => reachedEnd || options.isStuck?.(records) === true;
  await eventually('the end is reached', isOver, Boolean).finally(() => consumer.disconnect());
  return { records, reachedEnd };
}
