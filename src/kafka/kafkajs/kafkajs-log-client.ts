import type { Kafka, KafkaMessage } from 'kafkajs';
import type { Clock } from '../../support/clock.ts';
import { within } from '../../support/deadline.ts';
import type { Log } from '../../support/log.ts';
import type { CommittedRecord } from '../record.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import type { Cluster, RawMessage, RawPart } from './kafkajs-internals.ts';
import { withoutAborted } from './kafkajs-patches.ts';
import { committedRecord } from './kafkajs-record.ts';
import { FETCH_BYTES_PER_PARTITION, type KafkaTuning } from './tuning.ts';

/*
 * Reads topics without a consumer group. kafkajs reads only as a member of a group, and joining a new group takes 3 s
 * by default. So this client calls internal functions of kafkajs' consumers. These functions need no group.
 */

const MAX_BYTES = 4 * 1024 * 1024;

const READ_UNCOMMITTED = 0;
const READ_COMMITTED = 1;
const BEGINNING = -2;
const END = -1;

/** kafkajs has two connections to each broker. The connection with this index is used only for fetches. */
const FETCHES = 1;

/** Rejects waiting fetches. Otherwise kafkajs would close the connection only after the responses to these fetches. */
function dropFetches({ brokerPool }: Pick<Cluster, 'brokerPool'>): void {
  for (const { connectionPool } of Object.values(brokerPool.brokers)) {
    const connection = connectionPool.pool[FETCHES];
    connection?.rejectRequests(new Error('the fetch is no longer awaited'));
    connection?.socket?.destroy();
  }
}

export interface FetchedPart {
  readonly partition: number;
  readonly records: readonly CommittedRecord[];
  /** The offset at which the next fetch begins. Control, aborted and compacted records count as fetched. */
  readonly nextOffset: bigint;
}

export interface Bounds {
  readonly low: bigint;
  readonly high: bigint;
}

/** After any failure, the caller must close this client and open another client. */
export type LogClient = Pick<KafkajsLogClient, 'connect' | 'byLeader' | 'bounds' | 'fetch' | 'close'>;

/** Opens a client for a topic. Its `bounds` end at the last stable offset; with `toHighWatermark`, at the high watermark. */
export type OpenLogClient = (topic: string, toHighWatermark?: boolean) => LogClient;

export interface KafkajsLogClientOptions {
  readonly kafka: Kafka;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
  readonly log: Log;
}

export function kafkajsLogClients(options: KafkajsLogClientOptions): OpenLogClient {
  const createCluster = clusterFactory(options.kafka);
  return (topic, toHighWatermark = false) => {
    // This level applies only to requests for the end offset. Fetches always read committed records.
    const isolationLevel = toHighWatermark ? READ_UNCOMMITTED : READ_COMMITTED;
    return new KafkajsLogClient(createCluster(isolationLevel), topic, options);
  };
}

/** Returns the function of kafkajs that creates a cluster object. @throws Error if there is no such function. */
export function clusterFactory(kafka: Kafka): (isolationLevel?: number) => Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find((own) => String(own).includes('Kafka:createCluster'));
  const factory: unknown = symbol && Reflect.get(kafka, symbol);
  if (typeof factory !== 'function') {
    throw new Error('kafkajs lacks the function createCluster of 2.2.4. Install kafkajs 2.2.4 exactly.');
  }
  return (isolationLevel = READ_COMMITTED) => factory({ allowAutoTopicCreation: false, isolationLevel });
}

class KafkajsLogClient {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #options: KafkajsLogClientOptions;
  #connecting: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, topic: string, options: KafkajsLogClientOptions) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#options = options;
  }

  connect(): Promise<void> {
    const connect = async () => {
      await this.#cluster.connect();
      await this.#cluster.addTargetTopic(this.#topic);
    };
    this.#connecting = connect();
    return this.#connecting;
  }

  byLeader(partitions: readonly number[]): ReadonlyMap<number, readonly number[]> {
    const leaders = Object.entries(this.#cluster.findLeaderForPartitions(this.#topic, partitions));
    const known = new Set(leaders.flatMap(([, led]) => led));
    const missing = partitions.find((partition) => !known.has(partition));
    if (missing !== undefined) throw new Error(`topic ${this.#topic} has no partition ${missing}`);
    return new Map(leaders.map(([leader, led]) => [Number(leader), led]));
  }

  /** `low` is the offset of the first record that the broker appended at `sinceMs` or later, by the broker's clock. */
  async bounds(partitions: readonly number[], sinceMs: number | undefined): Promise<ReadonlyMap<number, Bounds>> {
    this.byLeader(partitions);
    const [low, high, given] = await Promise.all([
      this.#offsets(partitions, BEGINNING),
      this.#offsets(partitions, END),
      sinceMs === undefined ? undefined : this.#offsets(partitions, Math.floor(sinceMs)),
    ]);
    const since = given ?? low;
    return new Map(
      partitions.map((partition) => {
        const end = offsetOf(high, partition);
        const from = offsetOf(since, partition);
        // A negative offset means that no record was appended since `sinceMs`.
        return [partition, { low: from < 0n ? end : from, high: end }];
      }),
    );
  }

  async #offsets(partitions: readonly number[], fromTimestamp: number): Promise<ReadonlyMap<number, bigint>> {
    const asked = { topic: this.#topic, partitions: partitions.map((partition) => ({ partition })), fromTimestamp };
    const found = await this.#cluster.fetchTopicsOffset([asked]);
    return new Map(found.flatMap((topic) => topic.partitions.map((at) => [at.partition, BigInt(at.offset)])));
  }

  /** Fetches up to the last stable offset. Waits up to `waitMs` for records. */
  async fetch(leader: number, from: ReadonlyMap<number, bigint>, waitMs: number): Promise<readonly FetchedPart[]> {
    const broker = await this.#cluster.findBroker({ nodeId: String(leader) });
    const partitions = [...from].map(([partition, offset]) => {
      return { partition, fetchOffset: String(offset), maxBytes: FETCH_BYTES_PER_PARTITION };
    });
    const { responses } = await broker.fetch({
      isolationLevel: READ_COMMITTED,
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      topics: [{ topic: this.#topic, partitions }],
    });
    return responses
      .flatMap((topic) => topic.partitions)
      .map((part) => partOf(this.#topic, part, offsetOf(from, part.partition)));
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const { clock, log, tuning } = this.#options;
    const disconnect = async () => {
      // A client that is still connecting would connect again after a disconnect.
      await this.#connecting.catch(() => {});
      dropFetches(this.#cluster);
      await this.#cluster.disconnect();
    };
    const late = () => new Error('kafkajs still waits for responses');
    await within(disconnect(), tuning.disconnectMs, clock, late).catch((error) =>
      log.debug({ topic: this.#topic, reason: kafkaReason(error) }, 'connections of a reader were not closed in time'),
    );
  }
}

/** A fetch returns whole batches, so the first records can have lower offsets than requested. */
function partOf(topic: string, { partition, messages, abortedTransactions }: RawPart, from: bigint): FetchedPart {
  const asked = messages.filter(({ offset }) => BigInt(offset) >= from);
  const last = asked.at(-1);
  const committed = withoutAborted({ messages: asked, ...(abortedTransactions && { abortedTransactions }) });
  return {
    partition,
    records: (committed as readonly (RawMessage & KafkaMessage)[])
      .filter(({ isControlRecord }) => !isControlRecord)
      .map((message) => committedRecord(topic, partition, message)),
    nextOffset: last === undefined ? from : BigInt(last.offset) + 1n,
  };
}

function offsetOf(offsets: ReadonlyMap<number, bigint>, partition: number): bigint {
  const offset = offsets.get(partition);
  if (offset === undefined) throw new Error(`the response is for another partition than the request (${partition})`);
  return offset;
}
