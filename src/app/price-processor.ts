import { createPricedInstrumentReader } from '../avro/priced-instrument-reader.ts';
import type { SchemaRegistry } from '../avro/registry.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { Settings } from '../config/settings.ts';
import { priceSchemaName } from '../decoding/priced.ts';
import type { HttpClient } from '../http/client.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { partitionsOf, RECORD_ALLOWANCE_BYTES } from '../kafka/topic.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { BulkCaller } from '../processor/bulk-caller.ts';
import type { PriceKind } from '../processor/bulk-prices.ts';
import { CallSlots } from '../processor/call-slots.ts';
import type { PartitionCoreSettings } from '../processor/core/core-messages.ts';
import { Repayment } from '../processor/core/repayment.ts';
import { ReportedFailures } from '../processor/core/reported-failures.ts';
import { PartitionTask } from '../processor/partition-task.ts';
import { runPriceMember } from '../processor/price-member.ts';
import { type EnabledKind, enabledKinds } from '../processor/prices/enabled-kinds.ts';
import { createProviderPrices } from '../processor/prices/provider-prices.ts';
import { createReportedFailuresReader } from '../processor/read-reported-failures.ts';
import { createSeriesReader } from '../processor/read-series.ts';
import { readTable } from '../processor/read-table.ts';
import { TablesAhead } from '../processor/tables-ahead.ts';
import { createMarketData } from '../provider/market-data.ts';
import { priceInputs } from '../setup/price-inputs.ts';
import type { VerifiedTopics } from '../setup/verified-topics.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';

/** Partitions whose tables are read at a time: each holds some megabytes of records meanwhile. */
const TABLES_AT_ONCE = 2;
/** So many batches may be read ahead of what is answered: those in flight, one that fills, and one to spare. */
const BATCHES_READ_AHEAD = 4;

/** How long a record of an instrument waits for the price that answers it, and the price of an earlier isin for its end. */
const ANSWER_WITHIN_MS = 30_000;

/** How long a few instruments of one partition wait for those of others, so that they share a call: of their linger. */
const TOGETHER_MS = 50;

export interface PriceProcessorParts {
  readonly settings: Settings;
  readonly topics: TopicPlan;
  readonly verified: VerifiedTopics;
  readonly kafka: KafkaCluster;
  /** Of the market data interface; without it there are no prices. */
  readonly marketHttp: HttpClient | null;
  readonly registry: SchemaRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ProcessorEvents;
  readonly signal: AbortSignal;
}

/**
 * The price processor as the settings want it, until the signal aborts.
 *
 * @throws ConnectorError that no repetition mends, or the signal's reason.
 */
export async function runPriceProcessor(parts: PriceProcessorParts): Promise<never> {
  const { settings, topics, verified, kafka, registry, clock, random, events, signal } = parts;
  const { kinds, topicOf, schemaId, marketHttp, caller, core, targets } = pricing(parts);
  const instrumentReader = createPricedInstrumentReader((id, asked) => registry.schemaText(id, asked));
  const { groupId, topics: inputs } = priceInputs(settings);
  const read = inputs.map((name) => ({ ...topics.instruments, name }));
  const tables = new CallSlots(TABLES_AT_ONCE);
  const reader: LogReader = {
    readToEnd: (request) => tables.use(() => kafka.logReader.readToEnd(request), request.signal),
  };
  const readFailures = createReportedFailuresReader({ reported: core.reported, targets, reader, clock, signal });
  const readSeries = createSeriesReader({ kinds, topicOf, schemaId, reader, clock, events });
  const all = { groupId, reader, instrumentReader, caller, core, targets, clock, random, events };

  /** All that the results of a partition are written to: prices lie on the partition of their instrument. */
  const writtenWith = (partition: number) => [
    ...[...new Set(kinds.map(({ kind }) => topicOf(kind).name))].map((topic) => ({ topic, partition })),
    ...partitionsOf(topics['dead-letters']),
  ];

  const partitions = read.flatMap(partitionsOf);
  const ahead = new TablesAhead({
    partitions,
    committedOffset: (partition, asked) => kafka.consumerOffset(groupId, partition, asked),
    read: (partition, offset, reading) =>
      readTable({ reader, partition, instrumentReader, offset, until: offset, signal: reading }),
    clock,
    signal,
  });

  return runPriceMember({
    groupReader: kafka.groupReader,
    groupId,
    members: (count) => marketHttp.share(count),
    topics: inputs,
    partitions,
    joined: () => ahead.joined(),
    kinds,
    async verifyStart(starting) {
      await verified.verify([...read, ...new Set(kinds.map(({ kind }) => topicOf(kind)))], starting);
      for (const { kind } of kinds) await schemaId(kind, starting);
      ahead.joins();
    },
    createTask(owned) {
      const { partition, ownershipProof } = owned;
      const transactionalId = `${settings.prefix}-prices-${partition.topic}-${partition.partition}`;
      return new PartitionTask({
        ...owned,
        ...all,
        transactionalId,
        writer: kafka.transactionalWriter(transactionalId, {
          ownershipProof,
          abortHanging: () => writtenWith(partition.partition),
          abortHangingOffset: { groupId, ...partition },
        }),
        committedOffset: (opening) => kafka.consumerOffset(groupId, partition, opening),
        tableAhead: (offset) => ahead.take(partition, offset),
        readWindows: async (opening) => {
          await readFailures(opening);
          return readSeries(partition.partition, opening);
        },
        maxUnanswered: settings.prices.maxItems * BATCHES_READ_AHEAD,
      });
    },
    clock,
    random,
    events,
    signal,
  });
}

/** What all partitions share: which prices are asked for, by which calls, and where they go. */
function pricing({ settings, topics, verified, registry, clock, random, events, ...parts }: PriceProcessorParts) {
  const { prices, mapping } = settings;
  const [first, ...others] = enabledKinds(prices);
  if (first === undefined) throw new TypeError('No kind of prices is asked for.');
  const kinds = [first, ...others] as const;
  const { marketHttp } = parts;
  if (marketHttp === null) throw new TypeError('Prices need marketData.url, which is not set.');
  const marketData = createMarketData({ http: marketHttp });
  const enabled = new Map(kinds.map((kind) => [kind.kind, kind]));
  const kindOf = (kind: PriceKind) => enabled.get(kind) ?? first;
  const topicOf = (kind: PriceKind) => topics[kindOf(kind).topic];
  const schemaId = (kind: PriceKind, asked: AbortSignal) => {
    const text = readSchemaText(priceSchemaName(kindOf(kind).plan.inRecords.kind));
    return registry.schemaId(`${topicOf(kind).name}-value`, text, asked);
  };
  const caller = new BulkCaller({
    ...prices,
    togetherMs: Math.min(TOGETHER_MS, prices.lingerMs),
    prices: createProviderPrices({
      marketData,
      asked: kinds.map(({ plan }) => plan),
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
