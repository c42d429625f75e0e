import type { RequestListener, Server } from 'node:http';
import { createAdminListener } from '../admin/admin-server.ts';
import type { ConnectorDescription, ConnectorOffset, ConnectorOperations } from '../admin/connect-routes.ts';
import { RestError } from '../admin/rest-error.ts';
import type { Whole } from '../admin/status/status.ts';
import type { StatusBoard } from '../admin/status/status-board.ts';
import type { Settings, SourceSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import { partitionsOf } from '../kafka/topic.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { Metrics } from '../observe/metrics.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { keptValue } from '../support/kept-value.ts';
import { projectVersion } from '../support/version.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import type { Installation } from './installation.ts';
import { assertUsable, changeOffset, listOffsets, resetOffset } from './offsets-operation.ts';
import { priceInputs } from './planned-topics.ts';
import { requestRestart, requestState } from './state-operation.ts';

const CLASS_PREFIX = 'structured-products-connect';

export interface AdminSide extends Installation {
  readonly settingsFile: string;
  readonly roles: { readonly sources: boolean; readonly prices: boolean };
  readonly board: StatusBoard;
  readonly metrics: Metrics;
}

export async function answerAdmin(server: Server, parts: AdminSide): Promise<RequestListener> {
  const { settings, roles, topics, board, metrics } = parts;
  const operations = createConnectorOperations(parts);
  return createAdminListener(server, {
    settings: settings.admin,
    settingsFile: parts.settingsFile,
    version: projectVersion(),
    connectors: [
      ...(roles.sources ? describeSources(settings) : []),
      ...(roles.prices ? [describeProcessor(settings, topics)] : []),
    ],
    status: board.status,
    refreshed: board.refreshed,
    metrics,
    whole: createWholeReader(parts, operations),
    operations,
  });
}

/** Describes the sources of the settings in the words of Kafka Connect. The description holds no secret. */
function describeSources({ prefix, sources }: Pick<Settings, 'prefix' | 'sources'>): ConnectorDescription[] {
  return sources.map((source) => ({
    name: source.name,
    type: 'source',
    topics: Object.values(source.topics).map((topic) => `${prefix}.${topic}`),
    config: {
      'connector.class': `${CLASS_PREFIX}.${kindOf(source).connectorClass}`,
      'tasks.max': '1',
      ...flatTexts(source),
    },
  }));
}

/** Describes the price processor as a sink, because a consumer group reads its input, as for sinks in Kafka Connect. */
function describeProcessor({ prices }: Pick<Settings, 'prices'>, topics: TopicPlan): ConnectorDescription {
  return {
    name: PRICE_PROCESSOR,
    type: 'sink',
    topics: pricedTopics(prices).map((topic) => topics[topic].name),
    config: {
      'connector.class': `${CLASS_PREFIX}.PriceProcessor`,
      'tasks.max': '1',
      name: PRICE_PROCESSOR,
      ...flatTexts(prices),
    },
  };
}

function flatTexts(value: object): Record<string, string> {
  return Object.fromEntries(flatten(value).map(([key, member]) => [key, String(member)]));
}

function flatten(value: object, path = ''): [key: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const name = path === '' ? key : `${path}.${key}`;
    if (Array.isArray(member)) return [[name, member.join(',')]];
    if (typeof member === 'object' && member !== null) return flatten(member, name);
    return [[name, member ?? '']];
  });
}

/** Offsets are reused for this time after a read: each read connects to Kafka, and tools poll at least every second. */
const OFFSETS_KEPT_MS = 1_000;

/**
 * Changes sources and the price processor, also if another replica runs them. A record on the states topic changes a
 * state. A writer with the transactional id of an offset's partition changes the offset. Changes run one after another,
 * because two writers of this process with one transactional id would fence each other. Exported for tests.
 */
export function createConnectorOperations(place: Installation): ConnectorOperations {
  const { sources } = place.settings;
  const kept = { keepMs: OFFSETS_KEPT_MS, clock: place.clock };
  // One reading of the offsets topic returns the offsets of all sources.
  const ofSources = keptValue(() => listOffsets(place), kept);
  const ofProcessor = keptValue(() => consumerOffsets(place), kept);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (change: () => Promise<unknown>): Promise<void> => {
    const mine = last.then(change).then(() => {});
    last = mine.catch(() => {});
    return mine;
  };
  return {
    want: (connector, state) => inTurn(() => requestState(place, connector, state)),
    restart: (connector, which) => inTurn(() => requestRestart(place, connector, which)),
    async offsets(connector) {
      if (connector === PRICE_PROCESSOR) return ofProcessor.get();
      const source = sources.find(({ name }) => name === connector);
      if (source === undefined) return [];
      const listed = await ofSources.get();
      const found = listed.find((one) => one.configured && one.source === connector);
      return [{ partition: { endpoint: source.type }, offset: found?.offset ?? null }];
    },
    alterOffset: (connector, offset) =>
      inTurn(async () => {
        const source = sources.find(({ name }) => name === connector);
        if (source === undefined) return;
        if (offset !== null) assertGiven(source, offset);
        const request = { source, execute: true };
        const done = offset === null ? resetOffset(place, request) : changeOffset(place, request, () => offset);
        await done.finally(ofSources.forget);
      }),
  };
}

/** Reads the consumer offsets of the price processor, in the form of a sink in Kafka Connect. */
async function consumerOffsets({ settings, kafka, topics, signal }: Installation): Promise<readonly ConnectorOffset[]> {
  const { groupId, topics: names } = priceInputs(settings);
  const inputs = names.flatMap((name) => partitionsOf({ ...topics.instruments, name }));
  const offsets: ConnectorOffset[] = [];
  for (const input of inputs) {
    const committed = await kafka.consumerOffset(groupId, input, signal);
    offsets.push({
      partition: { kafka_topic: input.topic, kafka_partition: input.partition },
      offset: committed === null ? null : { kafka_offset: Number(committed.offset) },
    });
  }
  return offsets;
}

/** Refuses an offset from which the source cannot continue, before this offset is written. */
function assertGiven(source: SourceSettings, offset: SourceOffset): void {
  try {
    assertUsable(source, offset);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    throw new RestError(
      400,
      `The offset was not changed, because source ${source.name} cannot continue from it: ${error.message}`,
    );
  }
}

/** The replicas are read at most once in this time: each reading connects to Kafka, and pages reload every 5 s. */
const LOOK_EVERY_MS = 2_000;
/** The status waits at most this long for Kafka. */
const PATIENCE_MS = 1_000;
/** If the last successful reading is older than this, the replicas count as unknown. */
const KNOWN_FOR_MS = 15_000;
/** Only this many offsets are read to find a partition's newest price. Some offsets are transaction markers. */
const NEWEST = 4;

/** The returned function returns the last reading of all replicas; null if it is older than `KNOWN_FOR_MS`. */
function createWholeReader(at: Installation, operations: ConnectorOperations): () => Promise<Whole | null> {
  const { clock, signal } = at;
  let known: { readonly whole: Whole; readonly atMs: number } | null = null;
  const look = async () => {
    known = { whole: await readWhole(at, operations), atMs: clock.monotonicMs() };
  };
  const looked = keptValue(look, { keepMs: LOOK_EVERY_MS, clock });
  return async () => {
    // A silent Kafka is no error in this function: the status board reports this silence itself.
    await Promise.race([looked.get(), clock.sleep(PATIENCE_MS, signal)]).catch(() => {});
    return known !== null && clock.monotonicMs() - known.atMs < KNOWN_FOR_MS ? known.whole : null;
  };
}

async function readWhole(
  { settings, kafka, topics, prefix, signal }: Installation,
  operations: ConnectorOperations,
): Promise<Whole> {
  const inputs = priceInputs(settings);
  const [priced] = settings.prices.enabled ? pricedTopics(settings.prices) : [];
  const [sources, prices] = await Promise.all([
    kafka.groupMembers(`${prefix}-sources`),
    priced === undefined ? [] : kafka.groupMembers(inputs.groupId),
  ]);
  const pricedPartitions = inputs.topics.length * settings.topics.partitions;
  const offsets: Record<string, string | null> = {};
  const newestPrices: Record<number, string> = {};
  if ((sources ?? []).length > 1) {
    for (const { name } of settings.sources) {
      const [committed] = await operations.offsets(name);
      const since = committed?.offset?.since;
      offsets[name] = since === undefined || since === null ? null : String(since);
    }
  }
  if (priced !== undefined && (prices ?? []).length > 1) {
    const topic = topics[priced];
    await kafka.logReader.readToEnd({
      topic: topic.name,
      partitions: partitionsOf(topic).map(({ partition }) => partition),
      newest: NEWEST,
      onRecord: ({ partition, timestampMs }) => {
        newestPrices[partition] = new Date(timestampMs).toISOString();
      },
      signal,
    });
  }
  return { sources, prices, pricedPartitions, offsets, newestPrices };
}
