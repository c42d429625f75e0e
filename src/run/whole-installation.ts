import type { ConnectorOperations } from '../admin/connect-routes.ts';
import type { Whole } from '../admin/status/status.ts';
import { partitionsOf } from '../kafka/topic.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';
import type { Installation } from './installation.ts';
import { priceInputs } from './planned-topics.ts';

/** A page asks every few seconds, and each look connects to Kafka. */
const LOOK_EVERY_MS = 2_000;
/** The status does not wait longer for Kafka than this. */
const PATIENCE_MS = 1_000;
/** What was seen before is no longer known. */
const KNOWN_FOR_MS = 15_000;
/** Offsets at the end of a partition among which its newest price is: markers take some. */
const NEWEST = 4;

/** Gives the replicas of the installation, as Kafka saw them in the last seconds; null where that is not known. */
export function createWholeReader(
  at: Installation,
  operations: Pick<ConnectorOperations, 'offsets'>,
): () => Promise<Whole | null> {
  const { clock, signal } = at;
  let known: { readonly whole: Whole; readonly atMs: number } | null = null;
  let looking: Promise<void> | null = null;
  const isYoung = (ms: number) => known !== null && clock.monotonicMs() - known.atMs < ms;
  return async () => {
    if (looking === null && !isYoung(LOOK_EVERY_MS)) {
      looking = readWhole(at, operations)
        .then((whole) => {
          known = { whole, atMs: clock.monotonicMs() };
        })
        // Kafka does not answer, which the status says by itself.
        .catch(() => {})
        .finally(() => {
          looking = null;
        });
      await Promise.race([looking, clock.sleep(PATIENCE_MS, signal).catch(() => {})]);
    }
    return known !== null && isYoung(KNOWN_FOR_MS) ? known.whole : null;
  };
}

async function readWhole(
  { settings, kafka, topics, prefix, signal }: Installation,
  operations: Pick<ConnectorOperations, 'offsets'>,
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
