import type { TestContext } from 'node:test';
import type { ISocketFactory } from 'kafkajs';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { KafkaTuning } from '../../../src/kafka/kafkajs/tuning.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { systemClock } from '../../../src/support/clock.ts';
import type { Log } from '../../../src/support/log.ts';
import { uniqueName } from '../kafka/raw-kafkajs-cluster.ts';
import { eventually } from '../runner/eventually.ts';
import type { TcpProxies } from './tcp-proxy.ts';

/**
 * The limits of production, but for the waits, so that a fault costs a test less than a second. A request may still take
 * as long: a test in which answers are lost says itself how soon that is to be noticed.
 */
const SHORT_TUNING: Partial<KafkaTuning> = {
  initialRetryMs: 20,
  maxRetryMs: 300,
  transactionTimeoutMs: 20_000,
  openBackOff: { initialMs: 20, maximumMs: 200 },
  disconnectMs: 500,
};

const READ_DEADLINE_MS = 300_000;

const silent = () => undefined;
const SILENT_LOG: Log = { debug: silent, info: silent, warn: silent, error: silent };

export interface OurClusterOptions {
  /** `host:port` of each. */
  readonly brokers: readonly string[];
  /** All connections go through it; straight to the brokers without. */
  readonly proxy?: TcpProxies;
  readonly tuning?: Partial<KafkaTuning>;
  readonly random?: () => number;
}

/** Our Kafka as production has it, but for the shorter limits; closed when the test ends. */
export function openOurCluster(t: TestContext, options: OurClusterOptions): KafkaCluster {
  const cluster = connectKafka({
    brokers: [...options.brokers],
    clientId: uniqueName('ours'),
    tuning: { ...SHORT_TUNING, ...options.tuning },
    clock: systemClock,
    random: options.random ?? (() => 0.5),
    log: SILENT_LOG,
    // kafkajs' type asks for more than its own code uses.
    ...(options.proxy !== undefined && { socketFactory: options.proxy.socketFactory as ISocketFactory }),
  });
  t.after(() => cluster.close());
  return cluster;
}

/** A record with the given text as its key and value. */
export function textRecord(topic: string, value: string, partition = 0): OutgoingRecord {
  return { topic, partition, key: Buffer.from(value), value: Buffer.from(value), headers: {} };
}

/**
 * The values of one partition as our reader gives them, in order. `toHighWatermark` waits for the markers of a commit
 * that is acknowledged.
 */
export async function readValues(
  cluster: KafkaCluster,
  topic: string,
  partition = 0,
  toHighWatermark = false,
): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  await cluster.logReader.readToEnd({
    topic,
    partitions: [partition],
    toHighWatermark,
    onRecord: (record) => values.push(record.value?.toString() ?? null),
    signal: AbortSignal.timeout(READ_DEADLINE_MS),
  });
  return values;
}

/** A `readPosition` for tests that look at the position themselves. */
export async function noPosition(): Promise<void> {}

/** Waits until so many have come. */
export async function hasCome(list: readonly unknown[], count: number): Promise<void> {
  const come = () => list.length;
  await eventually(`${count} have come`, come, (length) => length >= count);
}
