import type { Settings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { untilReplaced } from '../kafka/cluster.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { partitionsOf, RECORD_ALLOWANCE_BYTES } from '../kafka/topic.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { Events } from '../observe/events.ts';
import { BulkCaller } from '../prices/bulk-caller.ts';
import type { PriceKind } from '../prices/bulk-prices.ts';
import { type PartitionCoreSettings, ReportedFailures } from '../prices/core/core-messages.ts';
import { Repayment } from '../prices/core/price-state.ts';
import { type EnabledKind, enabledKinds } from '../prices/enabled-kinds.ts';
import { PartitionTask } from '../prices/partition-task.ts';
import { runPriceMember } from '../prices/price-member.ts';
import { createProviderPrices } from '../prices/provider-prices.ts';
import { createReportedFailuresReader } from '../prices/read-reported-failures.ts';
import { createSeriesReader } from '../prices/read-windows.ts';
import { createMissedNotices } from '../prices/window-progress.ts';
import { createMarketData } from '../provider/market-data.ts';
import { createPricedInstrumentReader } from '../records/avro/priced-instrument-reader.ts';
import { readSchemaText } from '../records/avro/schema-files.ts';
import { priceSchemaName } from '../records/decoding/priced.ts';
import type { RequestedStates } from '../sources/wanted-states.ts';
import type { BackOff } from '../support/back-off.ts';
import { retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { createRunStates } from '../worker/run-states.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import type { Context } from './context.ts';
import { priceInputs } from './planned-topics.ts';
import type { VerifiedTopics } from './verified-topics.ts';

/** At most this many tables of instruments or prices are read at a time: each read needs some megabytes. */
const TABLES_AT_ONCE = 2;
const BATCHES_READ_AHEAD = 4;

/** A record waits at most this long for its price. Meanwhile, the price of an earlier ISIN may stay on the topic. */
const ANSWER_WITHIN_MS = 30_000;

/** A small batch waits this long, to share a call with batches of other partitions. `linger` includes this wait. */
const TOGETHER_MS = 50;

export interface PriceProcessorParts extends Pick<Context, 'kafka' | 'marketHttp' | 'registry' | 'clock' | 'random'> {
  readonly settings: Settings;
  readonly topics: TopicPlan;
  readonly verified: VerifiedTopics;
  readonly events: Events;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts. @throws the signal's reason, or a ConnectorError that a retry cannot correct. */
export async function runPriceProcessor(parts: PriceProcessorParts): Promise<never> {
  const { settings, topics, verified, kafka, registry, clock, random, events, signal } = parts;
  const { kinds, topicOf, schemaId, marketHttp, caller, core, targets } = pricing(parts);
  const instrumentReader = createPricedInstrumentReader((id, aborts) => registry.schemaText(id, aborts));
  const { groupId, topics: inputs } = priceInputs(settings);
  const read = inputs.map((name) => ({ ...topics.instruments, name }));
  const readings = Array.from({ length: TABLES_AT_ONCE }, () => Promise.resolve<unknown>(undefined));
  const reader: LogReader = {
    readToEnd(request) {
      // The new reading begins after the oldest reading has ended.
      const reading = (readings.shift() ?? Promise.resolve()).then(() => kafka.logReader.readToEnd(request));
      readings.push(reading.catch(() => {}));
      return untilAborted(reading, request.signal);
    },
  };
  const readFailures = createReportedFailuresReader({ reported: core.reported, targets, reader, clock, signal });
  const readSeries = createSeriesReader({ kinds, topicOf, schemaId, reader, clock, events });
  const missedNotices = createMissedNotices({ kinds, topic: topics.notifications, registry });
  const all = { groupId, reader, instrumentReader, caller, core, targets, clock, random, events };

  /** Returns the partitions with the results of an input partition. Prices go to the partition of the same number. */
  const writtenWith = (partition: number) => [
    ...[...new Set(kinds.map(({ kind }) => topicOf(kind).name))].map((topic) => ({ topic, partition })),
    ...partitionsOf(topics['dead-letters']),
    ...partitionsOf(topics.notifications),
  ];

  const used = [...read, ...new Set(kinds.map(({ kind }) => topicOf(kind)))];
  let topicIds: ReadonlyMap<string, string> = new Map();
  const partitions = read.flatMap(partitionsOf);
  return runPriceMember({
    groupReader: kafka.groupReader,
    groupId,
    members: (count) => marketHttp.share(count),
    topics: inputs,
    partitions,
    kinds,
    async verifyStart(starting) {
      await verified.verify(used, starting);
      // The topic ids are read before the tables, so that a later replacement of a topic is noticed.
      topicIds = await kafka.topicIds(
        used.map(({ name }) => name),
        starting,
      );
      for (const { kind } of kinds) await schemaId(kind, starting);
    },
    untilOver: (joined) =>
      untilReplaced({ kafka, known: topicIds, clock, signal: joined }).catch((error: unknown) => {
        if (error instanceof ConnectorError) verified.doubt(error.fields.topics as string[], error);
        throw error;
      }),
    createTask(owned, before) {
      const { partition, ownershipProof } = owned;
      const transactionalId = `${settings.prefix}-prices-${partition.topic}-${partition.partition}`;
      return new PartitionTask({
        ...owned,
        ...all,
        before,
        transactionalId,
        writer: kafka.transactionalWriter(transactionalId, {
          ownershipProof,
          abortHanging: () => writtenWith(partition.partition),
          abortHangingOffset: { groupId, ...partition },
        }),
        committedOffset: (opening) => kafka.consumerOffset(groupId, partition, opening),
        readWindows: async (answered, opening) => {
          await readFailures(opening);
          return readSeries(partition.partition, answered, opening);
        },
        missedNotices,
        maxUnanswered: settings.prices.maxItems * BATCHES_READ_AHEAD,
      });
    },
    clock,
    random,
    events,
    signal,
  });
}

function pricing({ settings, topics, verified, registry, clock, random, events, ...parts }: PriceProcessorParts) {
  const { prices, mapping } = settings;
  const [first, ...others] = enabledKinds(prices);
  if (first === undefined) throw new TypeError('No kind of prices is enabled.');
  const kinds = [first, ...others] as const;
  const { marketHttp } = parts;
  if (marketHttp === null) throw new TypeError('Prices need marketData.url, which is not set.');
  const marketData = createMarketData({ http: marketHttp });
  const enabled = new Map(kinds.map((kind) => [kind.kind, kind]));
  const kindOf = (kind: PriceKind) => enabled.get(kind) ?? first;
  const topicOf = (kind: PriceKind) => topics[kindOf(kind).topic];
  const schemaId = (kind: PriceKind, aborts: AbortSignal) => {
    const text = readSchemaText(priceSchemaName(kindOf(kind).inRecords.kind));
    return registry.schemaId(`${topicOf(kind).name}-value`, text, aborts);
  };
  const caller = new BulkCaller({
    ...prices,
    togetherMs: Math.min(TOGETHER_MS, prices.lingerMs),
    prices: createProviderPrices({
      marketData,
      kinds,
      schemaId,
      maxValueBytes: (kind) => verified.maxMessageBytes(topicOf(kind)) - RECORD_ALLOWANCE_BYTES,
      onMismatch: mapping.onMismatch,
      assumedZone: settings.marketData?.assumedZone ?? null,
      clock,
    }),
    clock,
    random,
    events,
  });
  const targets = {
    prices: new Map(kinds.map(({ kind }) => [kind, topicOf(kind)])),
    deadLetters: topics['dead-letters'],
    endpoint: marketData.bulkEndpoint,
  };
  const core = coreSettings(prices, kinds, { caller, clock, random });
  return { kinds, topicOf, schemaId, marketHttp, caller, core, targets };
}

function coreSettings(
  { lingerMs, maxBackoffMs, repaidAfterMs }: Settings['prices'],
  kinds: readonly EnabledKind[],
  { caller, clock, random }: Pick<PriceProcessorParts, 'clock' | 'random'> & { readonly caller: BulkCaller },
): PartitionCoreSettings {
  const epochMs = () => clock.wallMs() - clock.monotonicMs();
  return {
    kinds,
    lingerMs: lingerMs - Math.min(TOGETHER_MS, lingerMs),
    answerWithinMs: Math.max(ANSWER_WITHIN_MS, lingerMs),
    maxItems: (kind) => caller.maxItems(kind),
    maxBackoffMs,
    repayment: new Repayment({ repaidAfterMs, epochMs }),
    epochMs: epochMs(),
    random,
    reported: new ReportedFailures(),
  };
}

const CATCH_UP_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface WantedProcessor extends Pick<Context, 'clock' | 'random'> {
  readonly run: (signal: AbortSignal) => Promise<never>;
  readonly states: RequestedStates;
  readonly waitsForOperator: boolean;
  readonly events: Pick<Events, 'processorAttemptFailed' | 'processorFailed' | 'processorRests'>;
  readonly signal: AbortSignal;
}

/**
 * Runs the price processor while its requested state is running. A paused or stopped processor leaves its group. When
 * the processor runs again, it continues from the committed offsets and repeats uncommitted work.
 *
 * @returns the processor's name, if it has failed and no operator can restart it; rejects with the signal's reason.
 */
export async function runProcessorAsWanted(options: WantedProcessor): Promise<readonly string[]> {
  const { run, states, events, signal } = options;
  const processor = { name: PRICE_PROCESSOR };
  const runStates = createRunStates({
    units: [processor],
    targets: states.targets,
    restsWhen: ['paused', 'stopped'],
    onRest: (_, wanted) => events.processorRests({ wanted }),
    onFailed: (_, err) => events.processorFailed({ err }),
  });
  await catchUp(options);
  while (options.waitsForOperator || !runStates.allFailed()) {
    await runStates.untilDue(processor, signal);
    const leave = runStates.leaving(processor, signal);
    try {
      await run(leave.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error !== leave.reason) runStates.failed(processor, error);
    } finally {
      leave.end();
    }
  }
  return [PRICE_PROCESSOR];
}

/** Reads the requested states first, because requests from before the start count too. */
function catchUp({ states, events, clock, random, signal }: WantedProcessor): Promise<void> {
  const attemptFailed = events.processorAttemptFailed;
  return retry(() => states.catchUp(signal), { backOff: CATCH_UP_BACK_OFF, attemptFailed, clock, random, signal });
}
