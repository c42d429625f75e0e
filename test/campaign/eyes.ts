import type { Admin } from 'kafkajs';
import type { Simulator } from '../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../src/kafka/cluster.ts';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { loadKafkajs } from '../../src/kafka/kafkajs/kafkajs-patches.ts';
import { compareStreamOffsets } from '../../src/sources/stream/stream-response.ts';
import { systemClock } from '../../src/support/clock.ts';
import { readCommitted } from '../support/kafka/kafka-real.ts';
import { viewPartition } from '../support/kafka/kafka-wire-log.ts';
import { SOURCE_KEY, SOURCE_PARTITION } from '../support/ledgers/at-rest.ts';
import { pricesOnTopics } from '../support/ledgers/prices-on-topics.ts';
import type { KeyedContent } from '../support/ledgers/universe-log.ts';
import { PARTITIONS, universeOnTopics } from '../support/ledgers/universe-on-topics.ts';
import { contents, type LedgerEvent, ledgerEvents } from '../support/ledgers/universe-reading.ts';
import { unservedPrices } from '../support/network/served-prices.ts';
import type { Ground } from './ground.ts';
import { type ConnectorLog, eventFindings, type PartitionEnd } from './oracle.ts';
import type { Subject } from './subject.ts';
import type { Finding } from './violation.ts';

/** Reads all topics of a connector, and the provider's ledger beside them. */
async function readConnectorLog(options: {
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  readonly simulator: Simulator;
  /** The universe before anything happened in it. */
  readonly first: ReadonlyMap<string, string>;
  /** The first offset that was committed: after an hour the topic is compacted, and does not hold it any more. */
  readonly start?: string | undefined;
  readonly ends: () => Promise<readonly PartitionEnd[]>;
}): Promise<ConnectorLog> {
  const { kafka, prefix, simulator, first, ends } = options;
  const committed = await committedOffsets(kafka, prefix);
  const start = options.start ?? committed[0];
  const isDue = ({ offset }: { readonly offset: string }) =>
    start !== undefined && (compareStreamOffsets(offset, start) ?? 0) > 0;
  const events = [...simulator.ledger.events()];
  const prices = await pricesOnTopics(kafka, prefix);
  return {
    universe: await universeOnTopics({ kafka, prefix, simulator, first, isDue }),
    prices,
    unserved: await unservedPrices(
      simulator,
      prices.prices.map(({ price }) => price),
    ),
    committed,
    issued: events.map(({ offset }) => offset),
    newest: events.findLast(({ hidden }) => !hidden)?.offset ?? null,
    partitions: await ends(),
  };
}

/** The offsets of the stream that the source committed, in their order. */
async function committedOffsets(kafka: KafkaCluster, prefix: string): Promise<string[]> {
  const records = await readCommitted(kafka, `${prefix}.offsets`, [SOURCE_PARTITION]);
  return records
    .filter(({ key, value }) => String(key) === SOURCE_KEY && value !== null)
    .map(({ value }) => String(JSON.parse(String(value)).since));
}

/** Where each partition ends, and from where on a reader of committed records has to wait. */
async function partitionEnds(admin: Admin, brokers: readonly string[], prefix: string): Promise<PartitionEnd[]> {
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`));
  const metadata = await admin.fetchTopicMetadata({ topics });
  const ends = metadata.topics.map(async ({ name: topic, partitions }) => {
    const offsets = await admin.fetchTopicOffsets(topic);
    return Promise.all(
      partitions.map(async ({ partitionId: partition, leader }) => {
        const from = Number(offsets.find((end) => end.partition === partition)?.high ?? 0);
        // Nodes are numbered from 1; a broker that is not the campaign's own is the only one.
        const broker = brokers[leader - 1] ?? brokers[0] ?? '';
        const { lastStableOffset, highWatermark } = await viewPartition({ broker, topic, partition, from });
        return { topic, partition, lastStableOffset, highWatermark };
      }),
    );
  });
  return (await Promise.all(ends)).flat();
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

export type Eyes = Awaited<ReturnType<typeof openEyes>>;
export type Watch = ReturnType<typeof watchEvents>;

/** How the campaign itself looks at Kafka. */
export async function openEyes(ground: Ground) {
  const brokers = [...ground.brokers];
  const kafka = connectKafka({ brokers, clientId: 'campaign', clock: systemClock, random: Math.random, log: silent });
  // With its patches: idle, plain kafkajs wakes up every millisecond for hours, and warns of it.
  const { Kafka, logLevel } = loadKafkajs();
  const retry = { initialRetryTime: 100, retries: 12 };
  const admin = new Kafka({ brokers, clientId: 'campaign-admin', logLevel: logLevel.NOTHING, retry }).admin();
  await admin.connect();
  const nothing = async (): Promise<PartitionEnd[]> => [];
  const starts = new Map<string, string>();
  return {
    watch: ({ name, simulator }: Subject) => watchEvents(kafka, name, simulator, starts),
    read: ({ name: prefix, simulator, first }: Subject, ends: boolean) =>
      readConnectorLog({
        kafka,
        prefix,
        simulator,
        first,
        start: starts.get(prefix),
        ends: ends ? () => partitionEnds(admin, brokers, prefix) : nothing,
      }),
    deleteTopics: (topics: readonly string[]) => admin.deleteTopics({ topics: [...topics], timeout: 30_000 }),
    /** Deletes the topics of a connector that was verified. */
    async forget({ name }: Subject) {
      const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${name}.`));
      if (topics.length > 0) await admin.deleteTopics({ topics, timeout: 30_000 });
    },
    async close() {
      await kafka.close();
      await admin.disconnect();
    },
  };
}

/** Reads a connector's events topic as it grows. `starts` takes its first committed offset, by its prefix. */
function watchEvents(
  kafka: KafkaCluster,
  prefix: string,
  simulator: Subject['simulator'],
  starts: Map<string, string>,
) {
  const seen: KeyedContent[] = [];
  const published: LedgerEvent[] = [];
  const end = new AbortController();
  const { signal } = end;
  const follow = (
    topic: string,
    partitions: readonly number[],
    onRecord: (record: { key: Buffer | null; value: Buffer | null }) => void,
  ) => kafka.logTail.follow({ topic: `${prefix}.${topic}`, partitions, onRecord, signal }).catch(() => undefined);
  void follow('instrument-events', PARTITIONS, (record) => {
    seen.push(...contents([record as never]));
  });
  void follow('offsets', [SOURCE_PARTITION], ({ key, value }) => {
    if (!starts.has(prefix) && String(key) === SOURCE_KEY) starts.set(prefix, String(JSON.parse(String(value)).since));
  });
  const due = async () => {
    const from = starts.get(prefix);
    const isDue = (offset: string) => from !== undefined && (compareStreamOffsets(offset, from) ?? 0) > 0;
    published.push(...(await ledgerEvents(simulator, published.length)));
    return published.filter(({ offset }) => isDue(offset)).map(({ key, event }) => ({ key, content: event }));
  };
  return {
    /** What is wrong so far; what has not come yet may still come. */
    async findings(): Promise<Finding[]> {
      const arrived = [...seen];
      return starts.has(prefix) ? eventFindings(await due(), arrived, false) : [];
    },
    /** How many events that had to come by now have not. */
    missing: async () => (starts.has(prefix) ? (await due()).length - seen.length : 1),
    close: () => end.abort(new Error('the watch has ended')),
  };
}
