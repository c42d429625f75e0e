import type { Meters } from '../../observe/meters.ts';
import { STATUSES } from '../../observe/metric-table.ts';
import type { ProcessorStatus, ShownKind, SourceStatus, Status } from './status.ts';
import { stateIn, WAITING } from './status-view.ts';

/** A problem's name may contain an HTTP status of the provider. A name with an invalid status becomes `other`. */
const KNOWN_PROBLEM = /^((status|refused) [1-5][0-9]{2}|mismatch|unanswered|unusable|none)$/;

/**
 * Sets the gauges of sources and prices at a scrape. Each gauge is a number of the status, so that metrics, page and
 * readiness cannot differ. A value that is unknown now has no series.
 */
export function setStatusGauges(status: Status, { set }: Pick<Meters, 'set'>): void {
  set('spconnect_kafka_silent_seconds', {}, status.kafkaSilentSeconds);
  for (const source of status.sources) setSource(source, status, set);
  if (status.processor !== null) setProcessor(status.processor, status, set);
}

function setSource(shown: SourceStatus, status: Status, set: Meters['set']): void {
  const { name: source, task, walk, secondsToNextWalk, caughtUp } = shown;
  for (const [state, value] of stateValues(shown, status))
    set('spconnect_source_status', { source, status: state }, value);
  set('spconnect_source_caught_up', { source }, caughtUp === null ? null : Number(caughtUp));
  set(
    'spconnect_source_last_poll_timestamp_seconds',
    { source },
    Date.parse(shown.lastPollAt ?? shown.ownedAt ?? status.startedAt) / 1_000,
  );
  set('spconnect_seconds_to_retention_cliff', { source }, shown.secondsToRetentionCliff);
  const mayWalk = ['running', 'paused'].includes(task) && (walk ?? secondsToNextWalk) !== null;
  set('spconnect_walk_running', { source }, mayWalk ? Number(walk?.running === true) : null);
  set('spconnect_walk_pages', { source }, walk?.pages ?? null);
  set('spconnect_walks_without_deletion', { source }, shown.walksWithoutDeletion);
  set('spconnect_seconds_to_next_walk', { source }, secondsToNextWalk);
}

/** While Kafka is silent, the state of an unassigned task is unknown, so its values are null. */
function stateValues(shown: SourceStatus | ProcessorStatus, status: Status) {
  const now = stateIn(shown, status);
  return STATUSES.map((state) => [state, now === WAITING ? null : Number(state === now)] as const);
}

function setProcessor(shown: ProcessorStatus, status: Status, set: Meters['set']): void {
  const { task, partitions, freshness } = shown;
  for (const [state, value] of stateValues(shown, status)) set('spconnect_prices_status', { status: state }, value);
  set('spconnect_prices_partitions', {}, task === 'running' ? partitions.length : null);
  set('spconnect_prices_instruments', {}, freshness?.instruments ?? null);
  set('spconnect_prices_unreadable_instruments', {}, freshness?.unreadable ?? null);
  set('spconnect_prices_input_lag', {}, freshness?.lag ?? null);
  for (const kind of freshness?.kinds ?? []) setKind(kind, set);
}

function setKind({ kind: price, ...fresh }: ShownKind, set: Meters['set']): void {
  set('spconnect_prices_priced', { price }, fresh.priced);
  set('spconnect_prices_repaid', { price }, fresh.repaid);
  set('spconnect_prices_overdue', { price }, fresh.overdue);
  set('spconnect_prices_pulled', { price }, fresh.pulled);
  set('spconnect_prices_age_p50_seconds', { price }, fresh.ageP50Ms && fresh.ageP50Ms / 1_000);
  set('spconnect_prices_age_p99_seconds', { price }, fresh.ageP99Ms && fresh.ageP99Ms / 1_000);
  set('spconnect_prices_age_max_seconds', { price }, fresh.ageMaxMs && fresh.ageMaxMs / 1_000);
  for (const [problem, instruments] of problemCounts(fresh.failing)) {
    set('spconnect_prices_failing', { price, problem }, instruments);
  }
}

function problemCounts(failing: ShownKind['failing']): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, instruments] of Object.entries(failing)) {
    const problem = KNOWN_PROBLEM.test(name) ? name : 'other';
    counts.set(problem, (counts.get(problem) ?? 0) + instruments);
  }
  return counts;
}
