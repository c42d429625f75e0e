import type { Admin } from 'kafkajs';
import type { Simulator } from '../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../src/kafka/cluster.ts';
import { compareStreamOffsets } from '../../src/sources/stream/stream-response.ts';
import { readCommitted } from '../support/kafka/kafka-real.ts';
import { viewPartition } from '../support/kafka/kafka-wire-log.ts';
import { SOURCE_KEY, SOURCE_PARTITION } from '../support/ledgers/at-rest.ts';
import { pricesOnTopics } from '../support/ledgers/prices-on-topics.ts';
import { universeOnTopics } from '../support/ledgers/universe-on-topics.ts';
import { unservedPrices } from '../support/network/served-prices.ts';
import type { ConnectorLog, PartitionEnd } from './oracle.ts';

/** Reads all topics of a connector, and the provider's ledger beside them. */
export async function readConnectorLog(options: {
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
export async function partitionEnds(admin: Admin, brokers: readonly string[], prefix: string): Promise<PartitionEnd[]> {
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
