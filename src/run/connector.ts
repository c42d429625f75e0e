import { type AdminServer, openAdminPort } from '../admin/admin-port.ts';
import { KAFKA_IS_SILENT_SECONDS } from '../admin/status/readiness.ts';
import { createStatusBoard, type StatusBoard } from '../admin/status/status-board.ts';
import { setStatusGauges } from '../admin/status/status-gauges.ts';
import { DEFAULT_SETTINGS_FILE } from '../config/load.ts';
import { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicReport } from '../kafka/topic.ts';
import { toAll } from '../observe/event-table.ts';
import type { Events } from '../observe/events.ts';
import { createRequestedStates, type RequestedStates } from '../sources/wanted-states.ts';
import type { BackOff } from '../support/back-off.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { openDeadline } from '../support/deadline.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { projectVersion } from '../support/version.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import { type Context, type ContextOptions, createContext } from './context.ts';
import { type PlannedSources, planSources } from './planned-topics.ts';
import { createVerifiedTopics, type VerifiedTopics } from './verified-topics.ts';

/** The longest time for a stop. Orchestrators usually kill a process after 10 s, and the exit itself takes a moment. */
const STOP_DEADLINE_MS = 7_000;
const START_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface ConnectorOptions extends ContextOptions {
  /** The path of the settings file, for the admin server's error messages; default: `DEFAULT_SETTINGS_FILE`. */
  readonly settingsFile?: string;
  readonly events: Events;
  /** If this signal aborts, the connector finishes or aborts open transactions, and closes all connections. */
  readonly signal: AbortSignal;
  /** Removes secrets from texts that the admin server shows. */
  readonly redact?: (text: string) => string;
}

/** Runs all sources, or the price processor. After all of them have failed, resolves with their names. */
type Part = (signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Runs the sources and the price processor of the settings until the signal aborts, or no part can continue.
 *
 * @returns the names of the failed sources and processor; empty after the signal has aborted.
 * @throws ConnectorError with the action `exit`, if the process cannot start or continue.
 */
export async function runConnector(given: ConnectorOptions): Promise<readonly string[]> {
  const { settings, log, signal } = given;
  assertAnyWork(given);
  const context = await createContext(given);
  const { kafka, metrics, clock } = context;
  const plan = planSources(settings);
  const states = createRequestedStates({
    kafka,
    topic: plan.shared.states.name,
    sources: [...settings.sources.map(({ name }) => name), PRICE_PROCESSOR],
    events: toAll([metrics.events, given.events]),
    clock: systemClock,
  });
  const board = createBoard(given, states, context);
  metrics.follow((meters) => setStatusGauges(board.status(), meters));
  const events = toAll([board.events, metrics.events, given.events]);
  const options = { ...given, events };
  const late = () => new Error(`the stop took longer than ${STOP_DEADLINE_MS} ms`);
  const deadline = openDeadline(STOP_DEADLINE_MS, clock, late, { from: signal });
  let reason = 'no source or processor can continue';
  let admin: AdminServer | null = null;
  const over = new AbortController();
  const running = AbortSignal.any([signal, over.signal]);
  watchKafka(kafka, events, systemClock, running);
  const names = plan.topics.map(({ name }) => name);
  watchTopics(kafka, names, board, systemClock, running);
  try {
    if (settings.admin.enabled) {
      const at = { settings, prefix: settings.prefix, kafka, topics: plan.shared, clock, signal };
      const { settingsFile = DEFAULT_SETTINGS_FILE } = given;
      const side = { ...at, settingsFile, roles: rolesOf(given), board, metrics };
      admin = await openAdminPort(settings.admin, async (server) =>
        (await import('./admin-side.ts')).answerAdmin(server, side),
      );
      events.adminListening({ url: admin.url });
    }
    const verifying = ensureTopicsInTime(plan, options, context);
    const [verified] = await Promise.all([verifying, rolesOf(given).sources ? loadSources() : loadPrices()]);
    // Not awaited, because neither sources nor prices need the cluster's id to start.
    untilAborted(kafka.clusterId(), signal)
      .catch(() => null)
      .then((clusterId) => board.topicsProven(clusterId, verified.refused()));
    const parts = partsOf(options, context, { plan, verified, states });
    return (await untilAborted(runTogether(parts, states, signal), deadline.signal)).flat();
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error;
    reason = cause instanceof ConnectorError ? cause.code : textOf(cause);
    if (!signal.aborted) {
      log.error({ err: error }, 'cannot continue');
      throw error;
    }
    if (error !== signal.reason) log.warn({ err: error }, 'stopped with an error');
    return [];
  } finally {
    over.abort();
    const closing = Promise.allSettled([
      admin?.close(),
      context.http.close(),
      context.marketHttp?.close(),
      context.kafka.close(),
    ]);
    // A broker that never answers must not delay the stop. The broker or our next start ends open transactions.
    await untilAborted(closing, deadline.signal).catch(() => {});
    deadline.end();
    const { user, system } = process.cpuUsage();
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    events.stopped({ reason, cpuSeconds: (user + system) / 1e6, peakMemoryBytes });
  }
}

const LOOK_EVERY_MS = 1_000;
const SUSPENDED_MS = 5 * LOOK_EVERY_MS;

/** Reports once when Kafka has not answered for too long, and once when Kafka answers again. Exported for tests. */
export async function watchKafka(
  { answeredMs }: Pick<KafkaCluster, 'answeredMs'>,
  events: Pick<Events, 'kafkaSilent' | 'kafkaAnswers'>,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  let awakeMs = clock.monotonicMs();
  let lookedMs = awakeMs;
  let silentFromMs: number | null = null;
  while (!signal.aborted) {
    const nowMs = clock.monotonicMs();
    // A process that was suspended has not listened meanwhile.
    if (silentFromMs === null && nowMs - lookedMs > SUSPENDED_MS) awakeMs = nowMs;
    lookedMs = nowMs;
    const lastMs = Math.max(answeredMs() ?? 0, awakeMs);
    const isSilent = nowMs - lastMs >= KAFKA_IS_SILENT_SECONDS * 1_000;
    if (isSilent && silentFromMs === null) events.kafkaSilent({ silentMs: nowMs - lastMs });
    if (!isSilent && silentFromMs !== null) events.kafkaAnswers({ silentMs: nowMs - silentFromMs });
    silentFromMs = isSilent ? lastMs : null;
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
  }
}

const TOPICS_EVERY_MS = 5_000;

/** Shows deleted topics, after two looks: a broker that has just started knows no topic. Exported for tests. */
export async function watchTopics(
  { topicIds }: Pick<KafkaCluster, 'topicIds'>,
  names: readonly string[],
  board: Pick<StatusBoard, 'topicsMissing'>,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const looks = new Map<string, number>();
  while (!signal.aborted) {
    const found = await topicIds(names, signal).catch(() => null);
    for (const name of found === null ? [] : names) {
      if (found?.has(name)) looks.set(name, 0);
      else if (looks.has(name)) looks.set(name, (looks.get(name) ?? 0) + 1);
    }
    board.topicsMissing(names.filter((name) => (looks.get(name) ?? 0) > 1));
    await clock.sleep(TOPICS_EVERY_MS, signal).catch(() => {});
  }
}

function assertAnyWork(options: ConnectorOptions): void {
  const { sources, prices } = rolesOf(options);
  if (sources || prices) return;
  const text =
    'There is nothing to price: set marketData.url (MARKET_DATA_URL) and prices.enabled, or run other roles.';
  throw new ConnectorError('SETTINGS_INVALID', text);
}

function rolesOf({ settings, roles = 'both' }: ConnectorOptions) {
  return { sources: roles !== 'processor', prices: settings.prices.enabled && roles !== 'sources' };
}

function createBoard(
  options: ConnectorOptions,
  { targets }: RequestedStates,
  { clock, kafka, metrics }: Pick<Context, 'clock' | 'kafka' | 'metrics'>,
): StatusBoard {
  const { settings, signal, redact = (text: string) => text } = options;
  const { sources, prices } = rolesOf(options);
  return createStatusBoard({
    version: projectVersion(),
    prefix: settings.prefix,
    sources: sources ? settings.sources : [],
    processor: prices ? PRICE_PROCESSOR : null,
    targets,
    clock,
    kafkaAnsweredMs: kafka.answeredMs,
    clocksAheadMs: metrics.clocksAheadMs,
    redact,
    signal,
  });
}

/** Exported for tests. */
export async function loadSources() {
  return { ...(await import('../sources/kinds/all.ts')), ...(await import('./source-partitions.ts')) };
}

/** Exported for tests. */
export function loadPrices() {
  return import('./price-processor.ts');
}

interface Shared {
  readonly plan: PlannedSources;
  readonly verified: VerifiedTopics;
  readonly states: RequestedStates;
}

function partsOf(options: ConnectorOptions, context: Context, { plan, verified, states }: Shared): Part[] {
  const { settings, events } = options;
  const { kafka } = context;
  const { sources, prices } = rolesOf(options);
  const waitsForOperator = settings.admin.enabled;
  const parts: Part[] = [];
  if (sources) {
    parts.push(async (signal) => {
      const { createSources, runSourcePartitions } = await loadSources();
      const { shared: topics, named, writtenBy } = plan;
      const { maxMessageBytes } = verified;
      const own = { settings, logReader: kafka.logReader, walkRequests: states.walks, events };
      const created = createSources({ ...context, ...own, topics: { shared: topics, named, maxMessageBytes } });
      return await runSourcePartitions({
        ...context,
        ...own,
        sources: created,
        states,
        topics,
        verified,
        writtenBy,
        signal,
      });
    });
  }
  if (prices) {
    parts.push(async (signal) => {
      const { runPriceProcessor, runProcessorAsWanted } = await loadPrices();
      const own = { ...context, settings, topics: plan.shared, verified, events };
      const run = (running: AbortSignal) => runPriceProcessor({ ...own, signal: running });
      return await runProcessorAsWanted({ ...context, run, states, waitsForOperator, events, signal });
    });
  }
  return parts;
}

/** If one part throws an error, the other parts are stopped in the same way as by `signal`. */
async function runTogether(
  parts: readonly Part[],
  states: RequestedStates,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
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
  // Reads the states topic until the parts end. If this reading fails earlier, the parts end too.
  states.follow(untilEnd).catch((error: unknown) => ended.abort(error));
  await Promise.allSettled(runs);
  ended.abort();
  return await Promise.all(runs);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A wrong topic in `mayBeRefused` stops only its sources or prices. A wrong topic outside the set ends the process. */
async function ensureTopicsInTime(
  { topics, mayBeRefused }: PlannedSources,
  { settings, events, signal }: ConnectorOptions,
  { kafka, clock, random }: Context,
): Promise<VerifiedTopics> {
  const { create } = settings.topics;
  const onReport = ({ created, warnings }: TopicReport) => {
    for (const topic of created) events.topicCreated({ topic });
    for (const drift of warnings) events.topicDrift({ drift });
  };
  const ensure = () => untilAborted(kafka.ensureTopics(topics, { create, mayBeRefused }), signal);
  const attemptFailed = (failed: FailedAttempt) => events.attemptFailed({ part: 'topics', ...failed });
  const report = await retry(ensure, { backOff: START_BACK_OFF, attemptFailed, clock, random, signal });
  onReport(report);
  return createVerifiedTopics(report, { kafka, create, onReport });
}
