import type { ConnectorOffset, ConnectorOperations } from '../admin/connect-routes.ts';
import { RestError } from '../admin/rest-error.ts';
import type { SourceSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import { keptValue } from '../support/kept-value.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import type { Installation } from './installation.ts';
import { changeOffset, listOffsets, resetOffset } from './offsets-operation.ts';
import { priceInputs } from './price-inputs.ts';
import { requestRestart, requestState } from './state-operation.ts';
import { assertUsable } from './usable-offset.ts';

/** Tools ask every second, some more often: each reading of offsets connects to Kafka, and serves for so long. */
const OFFSETS_KEPT_MS = 1_000;

/**
 * What the admin server can do to the connectors, wherever they run: through the states topic, and for offsets through
 * the transactional id of their partition. One change at a time: this process's own need not fence each other.
 */
export function createConnectorOperations(place: Installation): ConnectorOperations {
  const { sources } = place.settings;
  const kept = { keepMs: OFFSETS_KEPT_MS, clock: place.clock };
  // All connectors' at once: one reading of the topic serves requests for any of them.
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

/** Of the price processor's group, as Kafka Connect shows those of a sink. */
async function consumerOffsets({ settings, kafka, signal }: Installation): Promise<readonly ConnectorOffset[]> {
  const { groupId, topics } = priceInputs(settings);
  const inputs = topics.flatMap((topic) =>
    Array.from({ length: settings.topics.partitions }, (_, partition) => ({ topic, partition })),
  );
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

/** What a person has sent is refused to that person, and not by the source that would start from it. */
function assertGiven(source: SourceSettings, offset: SourceOffset): void {
  try {
    assertUsable(source, offset);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    throw new RestError(
      400,
      `The offset was not changed, as source ${source.name} could not go on from it: ${error.message}`,
    );
  }
}
