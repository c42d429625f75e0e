import type { ConnectionOptions } from 'node:tls';
import type { ISocketFactory, Kafka, LogEntry, logCreator, Mechanism, SASLOptions } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { StallWatch } from '../../support/deadline.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { KafkaCluster } from '../cluster.ts';
import { type FollowLog, FreshRecords, type LogTail } from '../log-reader.ts';
import { type Bounds, ReadRefused, readOn } from '../log-reading.ts';
import { createKafkajsGroupReader } from './group/kafkajs-group-reader.ts';
import { type CoordinatedCluster, fetchConsumerOffset } from './kafkajs-consumer-offset.ts';
import { isOneOf, kafkaReason, LEADERLESS } from './kafkajs-errors.ts';
import { clusterFactory, kafkajsLogClients } from './kafkajs-log-client.ts';
import { loadKafkajs } from './kafkajs-patches.ts';
import { createKafkajsReader, type KafkajsReaderOptions, keepWithin } from './kafkajs-reader.ts';
import { KafkajsWriter } from './kafkajs-writer.ts';
import { OpenClients, OpenSockets, OpenWriters } from './open-clients.ts';
import { zstdCodec } from './produce/compression.ts';
import type { TopicFacts } from './refusals.ts';
import { askAdmin, ensureTopics, fetchClusterId, fetchMaxMessageBytes } from './topic-admin.ts';
import { type MetadataCluster, TopicIds } from './topic-ids.ts';
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
  const sockets = new OpenSockets(clock, options.socketFactory);
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
  const createCluster = clusterFactory({ kafka: plain, onSilence });
  const openClient = kafkajsLogClients({ kafka: plain, tuning, clock, log, onSilence });
  const logReader = createKafkajsReader({ openClient, tuning, clock });
  const logTail = createKafkajsTail({ openClient, tuning, clock, random, log });
  const groupReader = createKafkajsGroupReader({ kafkajs, kafka, tuning, clock, log });
  const [writers, limits] = [new OpenWriters(), new Map<string, number>()];
  const ids = new TopicIds(() => createCluster<MetadataCluster>());
  const topicIds = ids.of.bind(ids);
  const facts = topicFacts({ kafkajs, kafka, tuning }, limits);
  return {
    logReader,
    logTail,
    groupReader,
    consumerOffset(groupId, partition, signal) {
      const open = () => createCluster<CoordinatedCluster>();
      return fetchConsumerOffset({ open, topicIds, tuning, clock }, groupId, partition, signal);
    },
    transactionalWriter(transactionalId, writerOptions = {}) {
      const writer = new KafkajsWriter({
        ...writerOptions,
        kafka,
        transactionalId,
        compression,
        tuning,
        limits,
        facts,
        topicIds,
        ...around,
      });
      return writers.watched(writer);
    },
    async ensureTopics(topics, ensure) {
      const parts = { kafkajs, kafka, brokers: options.brokers, tuning, clock };
      const report = await ensureTopics(parts, topics, ensure);
      for (const [topic, bytes] of report.maxMessageBytes) limits.set(topic, bytes);
      return report;
    },
    topicIds,
    clusterId: () => fetchClusterId({ kafka, tuning }),
    answeredMs: sockets.answeredMs,
    async close() {
      await writers.close();
      await Promise.all([logReader.close(), logTail.close(), groupReader.close(), ids.close()]);
      sockets.close();
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

/** The same client; it reports brokers that leave a request without a response. */
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

interface KafkajsTailOptions extends KafkajsReaderOptions {
  readonly random: Random;
  readonly log: Log;
}

/**
 * Follows topics, each through a connection of its own. A connection that fails, or whose fetches get no responses
 * (kafkajs would ask the same dead connection again and again), is given up, and another one goes on where it was.
 */
function createKafkajsTail(options: KafkajsTailOptions): LogTail & { close(): Promise<void> } {
  const closing = new AbortController();
  const clients = new OpenClients();
  return {
    async follow(request) {
      const { clock, random, log, tuning } = options;
      const { topic, onlyNew = false } = request;
      const following: Following = {
        request: { ...request, signal: AbortSignal.any([request.signal, closing.signal]) },
        positions: new Map(),
        fresh: new FreshRecords(),
        failures: 0,
        clients,
      };
      const { signal } = following.request;
      for (;;) {
        signal.throwIfAborted();
        const cause = await untilFailure(options, following);
        signal.throwIfAborted();
        if (cause instanceof ReadRefused) throw cause.cause;
        // The end at the beginning is unknown then, and so is which records are new.
        if (onlyNew && following.positions.size === 0 && !isOneOf(LEADERLESS, cause)) throw endUnknown(topic, cause);
        following.failures += 1;
        const waitMs = backOffMs(following.failures, tuning.tailBackOff, random);
        const { failures } = following;
        log.warn({ topic, failures, waitMs, reason: kafkaReason(cause) }, 'reading a topic failed, trying again');
        await clock.sleep(waitMs, signal);
      }
    },
    async close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while following.'));
      await clients.closed();
    },
  };
}

interface Following {
  readonly request: FollowLog;
  /** Empty until the first connection has learnt where the partitions begin and end. */
  readonly positions: Map<number, bigint>;
  readonly fresh: FreshRecords;
  failures: number;
  readonly clients: OpenClients;
}

/** Follows through one connection until something goes wrong, which is returned. */
async function untilFailure(options: KafkajsTailOptions, following: Following): Promise<unknown> {
  const { request, positions, fresh, clients } = following;
  const { topic, partitions, onRecord, room } = request;
  const stalled = new StallWatch(options.tuning.readStallMs, options.clock);
  const signal = AbortSignal.any([request.signal, stalled.signal]);
  const client = options.openClient(topic);
  const follow = async () => {
    await untilAborted(client.connect(), signal);
    const bounds = await untilAborted(client.bounds(partitions, undefined), signal);
    if (positions.size > 0) keepWithin(positions, bounds);
    else for (const [partition, at] of bounds) positions.set(partition, beginning(request, at));
    await readOn({
      client,
      positions,
      waitMs: options.tuning.tailWaitMs,
      onRecord: (record) => fresh.isFresh(record) && onRecord(record),
      room,
      onFetched() {
        following.failures = 0;
      },
      stalled,
      signal,
    });
  };
  return clients
    .using(client, follow)
    .catch((cause: unknown) => cause)
    .finally(() => stalled.end());
}

function beginning({ onlyNew = false }: FollowLog, { low, high }: Bounds): bigint {
  return onlyNew ? high : low;
}

function endUnknown(topic: string, cause: unknown): ConnectorError {
  const text = `The end of topic ${topic} could not be asked for (${kafkaReason(cause)}).`;
  return new ConnectorError('KAFKA_UNREACHABLE', text, { cause, fields: { topic } });
}

const SILENT_MS = 60_000;

/**
 * Chooses the first broker of a new client. kafkajs takes the first of its list, and another one only when the connection
 * fails, so a frozen broker would keep every new client waiting.
 */
class SeedBrokers {
  readonly #brokers: readonly string[];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #silentSinceMs = new Map<string, number>();

  constructor(brokers: readonly string[], clock: Clock, random: Random) {
    this.#brokers = brokers;
    this.#clock = clock;
    this.#random = random;
  }

  /** Any broker that is not known to be silent; any at all when all are silent. */
  choose(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const answering = this.#brokers.filter((broker) => {
      return nowMs - (this.#silentSinceMs.get(broker) ?? Number.NEGATIVE_INFINITY) > SILENT_MS;
    });
    const from = answering.length > 0 ? answering : this.#brokers;
    return from.slice(Math.floor(this.#random() * from.length)).slice(0, 1);
  }

  /** A request to this `host:port` got no response in time. */
  wasSilent(broker: string): void {
    if (this.#brokers.includes(broker)) this.#silentSinceMs.set(broker, this.#clock.monotonicMs());
  }
}

const KAFKAJS_ERROR = 1;
const KAFKAJS_WARN = 2;

/** ERROR lines of kafkajs during normal work; it tries again. */
const NORMAL_ERRORS = [
  'This server is not the leader for that topic-partition',
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing',
  'This server does not host this topic-partition',
];

/** Each of a dozen attempts to connect logs its lines here; the caller reports the final outcome once. */
const CONNECTING = ['Connection', 'BrokerPool'];

/** Errors of kafkajs are warnings here: it tries again, and the caller logs the last failure. */
function bridgeLog(log: Log): logCreator {
  return () =>
    ({ namespace, level, log: entry }: LogEntry) => {
      const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = entry;
      const details = { ...fields, kafkajs: namespace, detail: message };
      if (
        level > KAFKAJS_WARN ||
        CONNECTING.includes(namespace) ||
        isNormal(level, `${message} ${String(fields.error ?? '')}`)
      ) {
        log.debug(details, 'kafkajs');
      } else {
        log.warn(details, 'kafkajs');
      }
    };
}

function isNormal(level: number, text: string): boolean {
  return level === KAFKAJS_ERROR && NORMAL_ERRORS.some((normal) => text.includes(normal));
}
