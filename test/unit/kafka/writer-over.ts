import { KafkajsWriter, type KafkajsWriterOptions } from '../../../src/kafka/kafkajs/kafkajs-writer.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/kafkajs/tuning.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { fakeKafka, type ProducerScript } from './fake-kafkajs.ts';
import { SteppedClock } from './stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A step that fails, perhaps with a code of the broker. */
export const fail = (text: string, code?: number) => () => Promise.reject(Object.assign(new Error(text), { code }));
export const never = () => new Promise<never>(() => {});

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
    topicIds: async () => new Map(),
    facts: { missing: async (topics) => topics, learnLimits: async () => {} },
    clock,
    random: () => 0.5,
    log: silent,
    ...more,
  });
  return { ...fake, clock, writer };
}

export function record(topic: string, value: string, partition = 0): OutgoingRecord {
  return { topic, partition, key: null, value: Buffer.from(value), headers: {} };
}
