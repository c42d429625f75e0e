import { ConnectorError } from '../../errors.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { askBroker, type Cluster, type Decoder, endOf, supportedVersion } from './kafkajs-internals.ts';

/** Version 10 (brokers from 2.8) has the ids of topics; kafkajs supports versions up to 6. */
const METADATA = { apiKey: 3, apiVersion: 10, apiName: 'Metadata' };
/** Means "no id": in the response of a broker without topic ids, and in a request that has the topic's name instead. */
const NO_ID = Buffer.alloc(16);

type MetadataCluster = Pick<Cluster, 'connect' | 'disconnect' | 'brokerPool'>;

/** Requests the ids of topics. All calls use the same connection. */
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
      // The next call opens a new connection, because kafkajs would retry on a broken connection until its time-outs.
      if (this.#cluster === cluster) this.#cluster = null;
      cluster.disconnect().catch(() => {});
      signal.throwIfAborted();
      const text = `The ids of the topics could not be read (${kafkaReason(cause)}). Check kafka.brokers.`;
      throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
    }
  }
}

async function ask(cluster: MetadataCluster, topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
  await cluster.connect();
  const broker = await cluster.brokerPool.findConnectedBroker();
  if (supportedVersion(broker, METADATA.apiKey) < METADATA.apiVersion) return new Map();
  return askBroker(
    broker,
    METADATA,
    (request, element) =>
      request
        .writeUVarIntArray(topics.map((topic) => endOf(element().writeBuffer(NO_ID).writeUVarIntString(topic))))
        // Three options are off: create topics, return rights on the cluster, return rights on the topics.
        .writeBoolean(false)
        .writeBoolean(false)
        .writeBoolean(false),
    readTopicIds,
  );
}

/** Returns ids in the form of Kafka's own tools. Omits topics with an error. */
function readTopicIds(from: Decoder): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  from.readUVarIntArray(skipBroker);
  from.readUVarIntString();
  from.readInt32();
  from.readUVarIntArray(() => {
    const errorCode = from.readInt16();
    const name = from.readUVarIntString();
    const id = from.readBytes(NO_ID.length);
    if (errorCode === 0 && name !== null && !id.equals(NO_ID)) ids.set(name, id.toString('base64url'));
    from.readBytes(1);
    from.readUVarIntArray(skipPartition);
    from.readInt32();
    from.readTaggedFields();
  });
  return ids;
}

function skipBroker(from: Decoder): void {
  from.readInt32();
  from.readUVarIntString();
  from.readInt32();
  from.readUVarIntString();
  from.readTaggedFields();
}

function skipPartition(from: Decoder): void {
  from.readInt16();
  from.readBytes(12);
  for (let lists = 3; lists > 0; lists--) from.readUVarIntArray(() => from.readInt32());
  from.readTaggedFields();
}
