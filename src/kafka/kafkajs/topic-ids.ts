import { ConnectorError } from '../../errors.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import type { Broker } from './kafkajs-internals.ts';
import {
  askBroker,
  FlexibleResponse,
  type FramedRequest,
  flexibleRequest,
  listOf,
  NO_TAGGED_FIELDS,
} from './requests.ts';

/*
 * A topic that is created again under the same name has another id. Metadata has it from version 10 on (brokers from 2.8);
 * kafkajs has none beyond version 6. The broker's connection is kept, since this is asked again and again.
 */

const METADATA = 3;
const VERSION = 10;
const REQUEST = { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata' };
const ID_BYTES = 16;
/** What a broker without ids answers, and what a request names in place of an id. */
const NO_ID = Buffer.alloc(ID_BYTES);
const INT32_BYTES = 4;
const FALSE = Buffer.of(0);

/** The parts of kafkajs' cluster that are used here. */
export interface MetadataCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  readonly brokerPool: { findConnectedBroker(): Promise<MetadataBroker> };
}

interface MetadataBroker extends Pick<Broker, 'connectionPool'> {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>> | null;
}

/** See `KafkaCluster.topicIds`. */
export class TopicIds {
  readonly #createCluster: () => MetadataCluster;
  #cluster: MetadataCluster | null = null;

  constructor(createCluster: () => MetadataCluster) {
    this.#createCluster = createCluster;
  }

  async of(topics: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    signal.throwIfAborted();
    this.#cluster ??= this.#createCluster();
    const cluster = this.#cluster;
    try {
      return await untilAborted(ask(cluster, topics), signal);
    } catch (cause) {
      // The next request opens another connection: kafkajs tries a broken connection again for as long as its time-outs allow.
      if (this.#cluster === cluster) this.#cluster = null;
      cluster.disconnect().catch(() => {});
      signal.throwIfAborted();
      const text = `The ids of the topics could not be read (${kafkaReason(cause)}). Check kafka.brokers.`;
      throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
    }
  }

  async close(): Promise<void> {
    await this.#cluster?.disconnect().catch(() => {});
  }
}

async function ask(cluster: MetadataCluster, topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
  await cluster.connect();
  const { versions, connectionPool } = await cluster.brokerPool.findConnectedBroker();
  if ((versions?.[METADATA]?.maxVersion ?? 0) < VERSION) return new Map();
  return askBroker({ connectionPool }, REQUEST, encodeTopicIds(topics), decodeTopicIds);
}

/** Exported for tests. */
export function encodeTopicIds(topics: readonly string[]): FramedRequest {
  const asked = topics.flatMap((topic) => [NO_ID, topic, NO_TAGGED_FIELDS]);
  // No topic is created, and no rights are described.
  return flexibleRequest([listOf(topics.length), ...asked, FALSE, FALSE, FALSE, NO_TAGGED_FIELDS]);
}

/** As Kafka's own tools show an id. A topic with an error is left out. Exported for tests. */
export function decodeTopicIds(bytes: Buffer): ReadonlyMap<string, string> {
  const response = new FlexibleResponse(bytes);
  const ids = new Map<string, string>();
  for (let brokers = response.count(); brokers > 0; brokers--) {
    response.int32();
    response.text();
    response.int32();
    response.text();
    response.taggedFields();
  }
  // The id of the cluster, and its controller.
  response.text();
  response.int32();
  for (let topics = response.count(); topics > 0; topics--) {
    const errorCode = response.int16();
    const name = response.text();
    const id = response.bytes(ID_BYTES);
    if (errorCode === 0 && !id.equals(NO_ID)) ids.set(name, id.toString('base64url'));
    // Whether it is internal.
    response.bytes(1);
    for (let partitions = response.count(); partitions > 0; partitions--) skipPartition(response);
    response.int32();
    response.taggedFields();
  }
  return ids;
}

function skipPartition(response: FlexibleResponse): void {
  response.int16();
  // Its number, its leader and the epoch of that.
  response.bytes(3 * INT32_BYTES);
  // The replicas, those in sync and those that are offline.
  for (let lists = 3; lists > 0; lists--) response.bytes(response.count() * INT32_BYTES);
  response.taggedFields();
}
