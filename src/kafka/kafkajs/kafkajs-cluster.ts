import type { ConnectionOptions } from 'node:tls';
import type { ISocketFactory, Kafka, Mechanism, SASLOptions } from 'kafkajs';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { KafkaCluster } from '../cluster.ts';
import { OpenWriters } from '../open-writers.ts';
import { TopicLimits } from '../topic-limits.ts';
import { askAdmin, fetchClusterId } from './ask-admin.ts';
import { createKafkajsGroupReader } from './group/kafkajs-group-reader.ts';
import { fetchConsumerOffset } from './kafkajs-consumer-offset.ts';
import { bridgeLog } from './kafkajs-log.ts';
import { kafkajsLogClients } from './kafkajs-log-client.ts';
import { loadKafkajs } from './kafkajs-patches.ts';
import { createKafkajsReader } from './kafkajs-reader.ts';
import { createKafkajsTail } from './kafkajs-tail.ts';
import { KafkajsWriter } from './kafkajs-writer.ts';
import { OpenSockets } from './open-clients.ts';
import { zstdCodec } from './produce/zstd-codec.ts';
import { SeedBrokers } from './seed-brokers.ts';
import { ensureTopics, fetchMaxMessageBytes } from './topic-admin.ts';
import type { TopicFacts } from './topic-refusal.ts';
import { DEFAULT_TUNING, type KafkaTuning, kafkajsRetry } from './tuning.ts';

export interface KafkajsOptions {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** Shown in the brokers' logs and metrics. */
  readonly clientId: string;
  readonly ssl?: ConnectionOptions | boolean;
  readonly sasl?: SASLOptions | Mechanism;
  /** Called before a new client connects: what `ssl` and `sasl` hold is up to date when it resolves. */
  readonly refreshLogin?: () => Promise<void>;
  /** Of the records that we write; every compression is read. Measured default: zstd. */
  readonly compression?: 'zstd' | 'gzip' | 'none';
  readonly tuning?: Partial<KafkaTuning>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How far the broker's clock is ahead of that of this machine, as each response to records shows it. */
  readonly clockSeen?: (aheadMs: number) => void;
  /** Wraps kafkajs; tests wrap its producers to stop the process at an exact step. */
  readonly wrap?: (kafka: Kafka) => Kafka;
  /** Opens the connections; tests lead them through a proxy that drops and cuts requests that they name. */
  readonly socketFactory?: ISocketFactory;
}

/**
 * Kafka through kafkajs. It does not connect by itself. One per process: kafkajs keeps committed offsets per instance,
 * and a producer and a consumer of different instances would not see each other's.
 */
export function connectKafka(options: KafkajsOptions): KafkaCluster {
  const { clientId, clock, random, log } = options;
  const around = { clock, random, log, clockSeen: options.clockSeen };
  const tuning: KafkaTuning = { ...DEFAULT_TUNING, ...options.tuning };
  const kafkajs = loadKafkajs();
  const { CompressionTypes, CompressionCodecs } = kafkajs;
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
  const compression = {
    zstd: CompressionTypes.ZSTD,
    gzip: CompressionTypes.GZIP,
    none: CompressionTypes.None,
  }[options.compression ?? 'zstd'];

  const seeds = new SeedBrokers(options.brokers, clock, random);
  const sockets = new OpenSockets(options.socketFactory);
  const plain = new kafkajs.Kafka({
    async brokers() {
      await options.refreshLogin?.();
      return seeds.choose();
    },
    clientId,
    ...(options.ssl !== undefined && { ssl: options.ssl }),
    ...(options.sasl !== undefined && { sasl: options.sasl }),
    requestTimeout: tuning.requestTimeoutMs,
    connectionTimeout: tuning.connectionTimeoutMs,
    retry: kafkajsRetry(tuning),
    socketFactory: sockets.factory,
    logCreator: bridgeLog(log),
  });
  const onSilence = (broker: string) => seeds.wasSilent(broker);
  const observed = reportingSilence(plain, onSilence);
  const kafka = options.wrap ? options.wrap(observed) : observed;
  const openClient = kafkajsLogClients({ kafka: plain, tuning, clock, log, onSilence });
  const logReader = createKafkajsReader({ openClient, tuning, clock });
  const logTail = createKafkajsTail({ openClient, tuning, clock, random, log });
  const groupReader = createKafkajsGroupReader({ kafkajs, kafka, tuning, clock, log });
  const [writers, limits] = [new OpenWriters(), new TopicLimits()];
  const facts = topicFacts({ kafkajs, kafka, tuning }, limits);
  return {
    logReader,
    logTail,
    groupReader,
    consumerOffset: (groupId, partition, signal) => fetchConsumerOffset({ kafka, tuning }, groupId, partition, signal),
    transactionalWriter(transactionalId, writerOptions = {}) {
      const writer = new KafkajsWriter({
        ...writerOptions,
        kafka,
        transactionalId,
        compression,
        tuning,
        limits,
        facts,
        ...around,
      });
      return writers.watched(writer);
    },
    async ensureTopics(topics, ensure) {
      const parts = { kafkajs, kafka, brokers: options.brokers, tuning, clock };
      const report = await ensureTopics(parts, topics, ensure);
      limits.learn(report.maxMessageBytes);
      return report;
    },
    clusterId: () => fetchClusterId({ kafka, tuning }),
    async close() {
      await writers.close();
      await Promise.all([logReader.close(), logTail.close(), groupReader.close()]);
      sockets.close();
    },
  };
}

/** What a writer asks about topics after a refusal. */
function topicFacts(parts: Parameters<typeof fetchMaxMessageBytes>[0], limits: TopicLimits): TopicFacts {
  return {
    async missing(topics) {
      const present = new Set(await askAdmin(parts, (admin) => admin.listTopics()));
      return topics.filter((topic) => !present.has(topic));
    },
    takeLessThanKnown: async (topics) => limits.learn(await fetchMaxMessageBytes(parts, topics)),
  };
}

/** The same client; its producers, consumers and admin clients report which broker left a request without a response. */
function reportingSilence(kafka: Kafka, onSilence: (broker: string) => void): Kafka {
  const listener = ({ payload }: { payload: { broker: string } }) => onSilence(payload.broker);
  const own: Pick<Kafka, 'producer' | 'consumer' | 'admin'> = {
    producer(config) {
      const producer = kafka.producer(config);
      producer.on(producer.events.REQUEST_TIMEOUT, listener);
      return producer;
    },
    consumer(config) {
      const consumer = kafka.consumer(config);
      consumer.on(consumer.events.REQUEST_TIMEOUT, listener);
      return consumer;
    },
    admin(config) {
      const admin = kafka.admin(config);
      admin.on(admin.events.REQUEST_TIMEOUT, listener);
      return admin;
    },
  };
  return Object.assign(Object.create(kafka), own);
}
