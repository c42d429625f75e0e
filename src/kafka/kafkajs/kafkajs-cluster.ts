import type { ConnectionOptions } from 'node:tls';
import type { ISocketFactory, Kafka, LogEntry, logCreator, Mechanism, SASLOptions } from 'kafkajs';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { KafkaCluster } from '../cluster.ts';
import { createKafkajsGroupReader } from './group/kafkajs-group-reader.ts';
import { fetchConsumerOffset } from './kafkajs-consumer-offset.ts';
import { clusterFactory, kafkajsLogClients } from './kafkajs-log-client.ts';
import { loadKafkajs } from './kafkajs-patches.ts';
import { createKafkajsReader } from './kafkajs-reader.ts';
import { KafkajsWriter } from './kafkajs-writer.ts';
import { BrokerConnections } from './open-clients.ts';
import { zstdCodec } from './produce/compression.ts';
import type { TopicFacts } from './refusals.ts';
import { askAdmin, ensureTopics, fetchClusterId, fetchGroupMembers, fetchMaxMessageBytes } from './topic-admin.ts';
import { TopicIds } from './topic-ids.ts';
import { DEFAULT_TUNING, type KafkaTuning, kafkajsRetry } from './tuning.ts';

export interface KafkajsOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: ConnectionOptions | boolean;
  readonly sasl?: SASLOptions | Mechanism;
  /** Called before a new client connects. Must update the contents of `ssl` and `sasl`. */
  readonly refreshLogin?: () => Promise<void>;
  readonly compression?: 'zstd' | 'gzip' | 'none';
  readonly tuning?: Partial<KafkaTuning>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called for each response to a write of records. `aheadMs` is the broker's clock minus this machine's clock. */
  readonly clockSeen?: (aheadMs: number) => void;
  /** Tests replace producers to stop the process at an exact step. */
  readonly wrap?: (kafka: Kafka) => Kafka;
  /** Tests connect through a proxy. */
  readonly socketFactory?: ISocketFactory;
}

/**
 * A connection logs in again this long before its login expires. The token was renewed earlier (run/kafka-client.ts).
 * The default of kafkajs, 10 s, is too long: some logins are valid for less, and a broker refuses two logins in a second.
 */
const LOGIN_AGAIN_MS = 1_400;

/** Call this function once in a process: only clients of one `Kafka` object share committed offsets. Opens no connection. */
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

  const connections = new BrokerConnections(options.brokers, clock, random, options.socketFactory);
  const plain = new kafkajs.Kafka({
    async brokers() {
      await options.refreshLogin?.();
      return connections.choose();
    },
    clientId,
    ...(options.ssl !== undefined && { ssl: options.ssl }),
    ...(options.sasl !== undefined && { sasl: options.sasl }),
    requestTimeout: tuning.requestTimeoutMs,
    connectionTimeout: tuning.connectionTimeoutMs,
    retry: kafkajsRetry(tuning),
    socketFactory: connections.factory,
    logCreator: bridgeLog(log),
    ...{ reauthenticationThreshold: LOGIN_AGAIN_MS },
  });
  const kafka = options.wrap ? options.wrap(plain) : plain;
  const createCluster = clusterFactory(plain);
  const openClient = kafkajsLogClients({ kafka: plain, tuning, clock, log });
  const logReader = createKafkajsReader({ openClient, tuning, clock, random, log });
  const groupReader = createKafkajsGroupReader({ kafkajs, kafka, tuning, clock, log });
  const [opened, limits] = [new Set<KafkajsWriter>(), new Map<string, number>()];
  const ids = new TopicIds(createCluster);
  const topicIds = ids.of.bind(ids);
  const facts = topicFacts({ kafkajs, kafka, tuning }, limits);
  return {
    logReader,
    logTail: logReader,
    groupReader,
    consumerOffset(groupId, partition, signal) {
      return fetchConsumerOffset({ open: createCluster, topicIds, tuning, clock }, groupId, partition, signal);
    },
    transactionalWriter(transactionalId, writerOptions = {}) {
      return new KafkajsWriter({
        ...writerOptions,
        kafka,
        transactionalId,
        compression,
        tuning,
        limits,
        facts,
        topicIds,
        opened,
        ...around,
      });
    },
    async ensureTopics(topics, ensure) {
      const parts = { kafkajs, kafka, brokers: options.brokers, tuning, clock };
      const report = await ensureTopics(parts, topics, ensure);
      for (const [topic, bytes] of report.maxMessageBytes) limits.set(topic, bytes);
      return report;
    },
    topicIds,
    groupMembers: (groupId) => fetchGroupMembers({ kafkajs, kafka, tuning }, groupId),
    clusterId: () => fetchClusterId({ kafka, tuning }),
    answeredMs: connections.answeredMs,
    async close() {
      await Promise.all([...opened].map((writer) => writer.close()));
      logReader.close();
      await groupReader.close();
      connections.close();
    },
  };
}

function topicFacts(parts: Parameters<typeof fetchMaxMessageBytes>[0], limits: Map<string, number>): TopicFacts {
  return {
    async missing(topics) {
      const present = new Set(await askAdmin(parts, (admin) => admin.listTopics()));
      return topics.filter((topic) => !present.has(topic));
    },
    async learnLimits(topics) {
      for (const [topic, bytes] of await fetchMaxMessageBytes(parts, topics)) limits.set(topic, bytes);
    },
  };
}

const KAFKAJS_WARN = 2;

/** Messages that kafkajs logs as ERROR or WARN during normal work, before it retries. */
const NORMAL = [
  'The group is rebalancing, so a rejoin is needed',
  'This server is not the leader for that topic-partition',
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing',
  'This server does not host this topic-partition',
];

/** kafkajs' message for a response to an abandoned request. */
const LATE_RESPONSE = 'Response without match';

/** These namespaces of kafkajs log every attempt to connect. The caller reports only the outcome, once. */
const CONNECTING = ['Connection', 'BrokerPool'];

/** Logs errors of kafkajs as warnings, because kafkajs retries, and the caller logs the failure of the last retry. */
function bridgeLog(log: Log): logCreator {
  return () =>
    ({ namespace, level, log: entry }: LogEntry) => {
      const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = entry;
      const details = { ...fields, kafkajs: namespace, detail: message };
      if (
        level > KAFKAJS_WARN ||
        CONNECTING.includes(namespace) ||
        message === LATE_RESPONSE ||
        NORMAL.some((normal) => `${message} ${String(fields.error ?? '')}`.includes(normal))
      ) {
        log.debug(details, 'kafkajs');
      } else {
        log.warn(details, 'kafkajs');
      }
    };
}
