import type { Kafka } from 'kafkajs';
import { KafkajsWriter, type KafkajsWriterOptions } from '../../../src/kafka/kafkajs/kafkajs-writer.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/kafkajs/tuning.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { SteppedClock } from './stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A step that fails, perhaps with a code of the broker. */
export const fail = (text: string, code?: number) => () => Promise.reject(Object.assign(new Error(text), { code }));
export const never = () => new Promise<never>(() => {});

/** What one fake producer does at each step; a step that is left out succeeds. */
interface ProducerScript {
  readonly connect?: () => Promise<void>;
  readonly send?: (call: number) => Promise<void>;
  readonly commit?: () => Promise<void>;
  readonly disconnect?: () => Promise<void>;
  /** The state of the last transaction, as the coordinator says it before the first one of this producer. */
  readonly last?: string;
  /** How it ended its last transaction, when a connection was lost since. */
  readonly cutOffAfter?: () => 'commit' | 'abort' | undefined;
}

interface SentMessages {
  readonly topic: string;
  readonly messages: readonly { readonly partition: number; readonly value: unknown; readonly addsOnly?: boolean }[];
}

/** A stand-in for kafkajs that writes down everything that is asked of it, one script per producer in turn. */
function fakeKafka(scripts: readonly ProducerScript[]) {
  const steps: string[] = [];
  const configs: object[] = [];
  const timeOutNow: (() => void)[] = [];
  const producer = (config: object) => {
    const id = configs.push(config);
    const script = scripts[id - 1] ?? {};
    const step = (name: string) => steps.push(`${id} ${name}`);
    const listeners = new Set<() => void>();
    timeOutNow.push(() => listeners.forEach((listener) => void listener()));
    let sends = 0;
    return {
      events: { REQUEST_TIMEOUT: 'producer.network.request_timeout' },
      on(_event: string, listener: () => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      async connect() {
        step('connect');
        await script.connect?.();
      },
      async disconnect() {
        step('disconnect');
        await script.disconnect?.();
      },
      cutOffAfter: () => script.cutOffAfter?.(),
      async lastTransaction() {
        if (script.last !== undefined) step(`last ${script.last}`);
        return script.last;
      },
      async transaction() {
        step('transaction');
        return {
          async sendBatch({ topicMessages }: { topicMessages: SentMessages[] }) {
            sends += 1;
            const texts = topicMessages.map(
              ({ topic, messages }) =>
                `${topic} ${messages.map(({ value, addsOnly }) => (addsOnly ? 'added' : String(value))).join(',')}`,
            );
            step(`send ${texts.join(' | ')}`);
            await script.send?.(sends);
            return topicMessages.flatMap(({ topic, messages }) =>
              messages.map(({ partition }) => ({ topicName: topic, partition, errorCode: 0 })),
            );
          },
          async commit() {
            step('commit');
            await script.commit?.();
          },
          async sendOffsets({ consumerGroupId, topics }: { consumerGroupId: string; topics: readonly unknown[] }) {
            step(`offsets of ${consumerGroupId}: ${topics.length}`);
          },
          async abort() {
            step('abort');
          },
        };
      },
      // Outside a transaction nothing may ever be sent.
      async send() {
        step('SEND OUTSIDE A TRANSACTION');
      },
    };
  };
  const kafka = { producer } as unknown as Kafka;
  /** Makes the producers report that a request was not answered in time. */
  const timeOutRequests = () => {
    for (const timeOut of timeOutNow) timeOut();
  };
  return { kafka, steps, configs, timeOutRequests };
}

/** Our writer over fake producers, one script for each in turn, and with a clock that is moved by hand. */
export function writerOver(scripts: readonly ProducerScript[], more: Partial<KafkajsWriterOptions> = {}) {
  const fake = fakeKafka(scripts);
  const clock = new SteppedClock();
  const writer = new KafkajsWriter({
    kafka: fake.kafka,
    transactionalId: 'id',
    compression: 4,
    tuning: DEFAULT_TUNING,
    limits: new Map(),
    opened: new Set(),
    topicIds: async () => new Map(),
    facts: { missing: async (topics) => topics, learnLimits: async () => {} },
    clock,
    random: () => 0.5,
    log: silent,
    ...more,
  });
  return { ...fake, clock, writer };
}

/** Opens it without a position. */
export function opened(writer: KafkajsWriter): Promise<void> {
  return writer.open(async () => {}, new AbortController().signal);
}

export function record(topic: string, value: string, partition = 0): OutgoingRecord {
  return { topic, partition, key: null, value: Buffer.from(value), headers: {} };
}
