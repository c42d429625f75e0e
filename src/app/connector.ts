import type { SchemaRegistry } from '../avro/registry.ts';
import type { Settings } from '../config/settings.ts';
import { runOffsetPartition, type Source } from '../connector/offset-partition.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { KafkaOptions } from '../kafka/kafkajs-cluster.ts';
import { offsetPartition, readOffsets } from '../kafka/offset-store.ts';
import type { TopicReport, TopicSpecification } from '../kafka/topic.ts';
import { toAll } from '../observability/all-events.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { createKafkaCluster } from './kafka-client.ts';
import { type PlannedSources, planSources } from './planned-sources.ts';
import { runPriceProcessor } from './price-processor.ts';
import { createMarketDataHttp, createReferenceDataHttp } from './provider-client.ts';
import { createRegistry } from './registry-client.ts';
import { createRequestedStates, type RequestedStates } from './requested-states.ts';
import { createStopDeadline } from './stop-deadline.ts';
import { projectVersion } from './version.ts';

const START_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

/** Sources read the provider's reference data; the processor prices the instruments that are on Kafka. */
export type Roles = 'sources' | 'processor' | 'both';

export interface ConnectorOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly events: ConnectorEvents;
  readonly processorEvents: ProcessorEvents;
  /** What this process does of the whole; both unless given. */
  readonly roles?: Roles;
  /** Asks for the end: the open transaction is finished or dropped, and everything is closed. */
  readonly signal: AbortSignal;
  /** What tests put in the place of the real thing. */
  readonly overrides?: Partial<Context> & { readonly wrapKafka?: KafkaOptions['wrap'] };
}

/** What all parts of a running connector share. */
interface Context {
  readonly clock: Clock;
  readonly random: Random;
  readonly kafka: KafkaCluster;
  readonly http: HttpClient;
  /** Of the market data interface; null where there are no prices. */
  readonly marketHttp: HttpClient | null;
  readonly registry: SchemaRegistry;
  readonly metrics: Metrics;
}

/** One thing that a connector does; gives the names of what failed in it, when nothing of it is left to run. */
type Part = (signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Runs the sources and the price processor of the settings until the signal aborts or none is left that can go on.
 *
 * @returns the names of those that failed; empty after a stop that was asked for.
 * @throws ConnectorError when the process cannot start or go on: its action is `exit`.
 */
export async function runConnector(given: ConnectorOptions): Promise<readonly string[]> {
  const { settings, log, signal } = given;
  const context = await createContext(given);
  const events = toAll([context.metrics.events, given.events]);
  const processorEvents = toAll([context.metrics.processorEvents, given.processorEvents]);
  const options = { ...given, events, processorEvents };
  const deadline = createStopDeadline(signal, context.clock);
  const usedAtStart = process.cpuUsage();
  let reason = 'nothing is left that can go on';
  try {
    const plan = planSources(settings);
    const report = await ensureTopicsInTime(plan.topics, options, context);
    const parts = partsOf(options, context, { plan, report });
    return (await untilAborted(runTogether(parts, signal), deadline.signal)).flat();
  } catch (error) {
    reason = textOf(signal.aborted ? signal.reason : error);
    if (!signal.aborted) {
      log.error({ err: error }, 'cannot go on');
      throw error;
    }
    if (error !== signal.reason) log.warn({ err: error }, 'stopped with an error');
    return [];
  } finally {
    const closing = Promise.allSettled([context.http.close(), context.marketHttp?.close(), context.kafka.close()]);
    // A broker that never answers must not hold up the stop: it ends what was left open, or our next start does.
    await untilAborted(closing, deadline.signal).catch(() => {});
    deadline.end();
    const { user, system } = process.cpuUsage(usedAtStart);
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    events.stopped({ reason, cpuSeconds: (user + system) / 1e6, peakMemoryBytes });
  }
}

/** @throws ConnectorError SETTINGS_INVALID when the role is to price and there are no prices. */
function partsOf(
  options: ConnectorOptions,
  context: Context,
  { plan, report }: { readonly plan: PlannedSources; readonly report: TopicReport },
): Part[] {
  const { settings, events, processorEvents, roles = 'both' } = options;
  const { kafka } = context;
  const runSources: Part = (signal) => {
    const states = createRequestedStates({
      kafka,
      topic: plan.shared.states.name,
      sources: settings.sources.map(({ name }) => name),
      events,
    });
    const own = { settings, logReader: kafka.logReader, walkRequests: states.walks, events };
    const sources = plan.create({ ...context, ...own }, report);
    return runPartitions({ sources, states, offsetsTopic: plan.shared.offsets.name }, { ...options, signal }, context);
  };
  const runPrices: Part = async (signal) => {
    try {
      const topics = plan.shared;
      return await runPriceProcessor({ ...context, settings, topics, report, events: processorEvents, signal });
    } catch (error) {
      signal.throwIfAborted();
      processorEvents.processorFailed({ err: error });
      return ['prices'];
    }
  };
  if (roles === 'processor' && !settings.prices.enabled) {
    const text =
      'There is nothing to price: set marketData.url (MARKET_DATA_URL) and prices.enabled, or run other roles.';
    throw new ConnectorError('SETTINGS_INVALID', text);
  }
  const prices = settings.prices.enabled && roles !== 'sources' ? [runPrices] : [];
  return roles === 'processor' ? prices : [runSources, ...prices];
}

/** What one part cannot survive ends the others, in an orderly way. */
async function runTogether(parts: readonly Part[], signal: AbortSignal): Promise<readonly (readonly string[])[]> {
  const ended = new AbortController();
  const untilEnd = AbortSignal.any([signal, ended.signal]);
  const runs = parts.map(async (run) => {
    try {
      return await run(untilEnd);
    } catch (error) {
      ended.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(runs);
  return await Promise.all(runs);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function createContext({ settings, log, overrides }: ConnectorOptions): Promise<Context> {
  const { clock = systemClock, random = systemRandom, wrapKafka: wrap } = overrides ?? {};
  const sources = settings.sources.map(({ name }) => name);
  const metrics = overrides?.metrics ?? createMetrics({ version: projectVersion(), sources, clock });
  const deps = { clock, random, log, observer: metrics.httpObserver };
  return {
    clock,
    random,
    metrics,
    kafka: overrides?.kafka ?? (await createKafkaCluster(settings, { ...deps, ...(wrap && { wrap }) })),
    http: overrides?.http ?? (await createReferenceDataHttp(settings.referenceData, deps)),
    marketHttp:
      overrides?.marketHttp ?? (settings.marketData && (await createMarketDataHttp(settings.marketData, deps))),
    registry: overrides?.registry ?? (await createRegistry(settings.schemaRegistry, deps)),
  };
}

/** Kafka may start after us: an unreachable one is waited for, a wrong topic is not. */
async function ensureTopicsInTime(
  topics: readonly TopicSpecification[],
  { settings, events, signal }: ConnectorOptions,
  { kafka, clock, random }: Context,
): Promise<TopicReport> {
  for (let failures = 1; ; failures++) {
    try {
      const report = await untilAborted(kafka.ensureTopics(topics, { create: settings.topics.create }), signal);
      for (const topic of report.created) events.topicCreated({ topic });
      for (const warning of report.warnings) events.topicDrift({ drift: warning });
      return report;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectorError) || error.action !== 'retry') throw error;
      const waitMs = backOffMs(failures, START_BACK_OFF, random);
      events.attemptFailed({ source: 'topics', failures, waitMs, err: error });
      await clock.sleep(waitMs, signal);
    }
  }
}

/** One writer for each partition of the offsets topic that carries a source. */
function runPartitions(
  parts: { readonly sources: readonly Source[]; readonly states: RequestedStates; readonly offsetsTopic: string },
  { settings, events, signal }: ConnectorOptions,
  { kafka, clock, random }: Context,
): Promise<readonly string[]> {
  const { sources, states, offsetsTopic } = parts;
  const byPartition = Map.groupBy(sources, (source) => offsetPartition(source.offsetKey));
  const ended = new AbortController();
  const untilEnd = AbortSignal.any([signal, ended.signal]);
  const runs = [...byPartition].map(async ([partition, onPartition]) => {
    const transactionalId = `${settings.prefix}-sources-${partition}`;
    try {
      return await runOffsetPartition({
        partition,
        transactionalId,
        sources: onPartition,
        writer: kafka.transactionalWriter(transactionalId),
        async readOffsets(readSignal) {
          const offsets = readOffsets(kafka.logReader, offsetsTopic, partition, readSignal);
          return (await Promise.all([offsets, states.catchUp(readSignal)]))[0];
        },
        targets: states.targets,
        waitsForOperator: settings.admin.enabled,
        clock,
        random,
        events,
        signal: untilEnd,
      });
    } catch (error) {
      // One partition that cannot go on ends the process, and with it the others in an orderly way.
      ended.abort(error);
      throw error;
    }
  });
  // It ends with the runs; should it ever end before, they end too.
  states.follow(untilEnd).catch((error: unknown) => ended.abort(error));
  return Promise.allSettled(runs)
    .finally(() => ended.abort())
    .then(() => Promise.all(runs))
    .then((failed) => failed.flat());
}
