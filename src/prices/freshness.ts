import { setImmediate as afterOtherWork } from 'node:timers/promises';
import type { Freshness, KindFreshness } from '../observe/events.ts';
import type { Clock } from '../support/clock.ts';
import { keptValue } from '../support/kept-value.ts';
import type { RefreshPlan } from './core/instrument.ts';
import type { PriceState } from './core/price-state.ts';
import type { EnabledKind } from './enabled-kinds.ts';
import type { PartitionTask } from './partition-task.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const AGE_BOUNDS_MS = [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600, 7_200, 86_400, 129_600].map(
  (seconds) => seconds * SECOND_MS,
);

/** Counts the ages of prices. Each age is rounded up (to 0.1 s, 1 s or 1 min), so that only few ages are sorted. */
class AgeCounts {
  readonly #counts = new Map<number, number>();
  #count = 0;

  add(ageMs: number): void {
    const unitMs = ageMs <= MINUTE_MS ? 100 : ageMs <= HOUR_MS ? SECOND_MS : MINUTE_MS;
    const roundedMs = Math.ceil(ageMs / unitMs) * unitMs;
    this.#counts.set(roundedMs, (this.#counts.get(roundedMs) ?? 0) + 1);
    this.#count += 1;
  }

  summary(): Pick<KindFreshness, 'priced' | 'ageP50Ms' | 'ageP99Ms' | 'ageMaxMs' | 'ages'> {
    const ascending: { readonly ageMs: number; readonly upToHere: number }[] = [];
    let upToHere = 0;
    for (const [ageMs, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      upToHere += count;
      ascending.push({ ageMs, upToHere });
    }
    const countUpTo = (atMostMs: number) => ascending.findLast(({ ageMs }) => ageMs <= atMostMs)?.upToHere ?? 0;
    const quantile = (share: number) => ascending.find((one) => one.upToHere >= this.#count * share)?.ageMs ?? null;
    return {
      priced: this.#count,
      ageP50Ms: quantile(0.5),
      ageP99Ms: quantile(0.99),
      ageMaxMs: quantile(1),
      ages: [...AGE_BOUNDS_MS, Number.POSITIVE_INFINITY].map((atMostMs) => ({
        atMostMs,
        instruments: countUpTo(atMostMs),
      })),
    };
  }
}

/** An instrument is overdue after this many refresh intervals without a newer price. */
const OVERDUE_INTERVALS = 1.5;
/** The number of instruments per step. A step takes a few milliseconds on a slow machine. */
const INSTRUMENTS_AT_ONCE = 2_000;

export type AskedKind = Pick<EnabledKind, 'kind' | 'refreshIntervalMs'>;

type FreshnessTask = Pick<PartitionTask, 'core' | 'lag' | 'unreadable'>;

function* freshnessSteps(
  tasks: readonly FreshnessTask[],
  kinds: readonly [AskedKind, ...AskedKind[]],
  nowMs: number,
): Generator<void, Freshness> {
  const cores = tasks.flatMap(({ core }) => core ?? []);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [first, ...others] = kinds;
  const ofFirst = new KindCounts(first, nowMs);
  const ofOthers = others.map((kind) => new KindCounts(kind, nowMs));
  const ofAll = [ofFirst, ...ofOthers];
  let looked = 0;
  for (const core of cores) {
    for (const row of core.instruments.rows()) {
      looked += 1;
      if (looked % INSTRUMENTS_AT_ONCE === 0) yield;
      // `at` is the position of the kind in the settings. `ofAll` and the core have the kinds in this order.
      for (const [at, counts] of ofAll.entries()) {
        counts.add(core.stateOf(row, at, nowMs), core.instruments.plan(row, at));
      }
    }
  }
  const summary = ofFirst.summary();
  return {
    ...summary,
    kinds: [summary, ...ofOthers.map((kind) => kind.summary())],
    instruments: sum(cores.map(({ instruments }) => instruments.size)),
    unreadable: sum(tasks.map(({ unreadable }) => unreadable)),
    unansweredInputs: sum(cores.map(({ unanswered }) => unanswered)),
    lag: sum(tasks.map(({ lag }) => lag)),
  };
}

class KindCounts {
  readonly #kind: AskedKind;
  readonly #nowMs: number;
  readonly #ages = new AgeCounts();
  readonly #failing: Record<string, number> = {};
  #waiting = 0;
  #repaid = 0;
  #overdue = 0;
  #pulled = 0;

  constructor(kind: AskedKind, nowMs: number) {
    this.#kind = kind;
    this.#nowMs = nowMs;
  }

  add(state: PriceState, { sinceMs, pulled, problem }: RefreshPlan): void {
    if (state === 'repaid') {
      this.#repaid += 1;
      return;
    }
    if (state === 'failing') {
      const name = String(problem);
      this.#failing[name] = (this.#failing[name] ?? 0) + 1;
      return;
    }
    if (state === 'waiting') this.#waiting += 1;
    else this.#ages.add(Math.max(0, this.#nowMs - sinceMs));
    if (pulled) this.#pulled += 1;
    if (this.#nowMs - sinceMs > this.#kind.refreshIntervalMs * OVERDUE_INTERVALS) this.#overdue += 1;
  }

  summary(): KindFreshness {
    const { kind } = this.#kind;
    const counts = { waiting: this.#waiting, repaid: this.#repaid, overdue: this.#overdue, pulled: this.#pulled };
    return { kind, ...this.#ages.summary(), ...counts, failing: this.#failing };
  }
}

const KEPT_MS = 1_000;

/** Counts all instruments at most once a second, in small steps. Only the first count may block other work. */
export function createFreshnessView(
  tasks: () => readonly FreshnessTask[],
  kinds: readonly [AskedKind, ...AskedKind[]],
  clock: Pick<Clock, 'monotonicMs'>,
) {
  let newest: Freshness | null = null;
  const begin = () => freshnessSteps(tasks(), kinds, clock.monotonicMs());
  const passes = keptValue(
    async () => {
      newest = await inSteps(begin());
    },
    { keepMs: KEPT_MS, clock },
  );
  return {
    newest(): Freshness {
      newest ??= atOnce(begin());
      passes.get().catch(() => {});
      return newest;
    },
    refreshed: passes.get,
  };
}

async function inSteps(steps: Generator<void, Freshness>): Promise<Freshness> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await afterOtherWork();
  }
}

function atOnce(steps: Generator<void, Freshness>): Freshness {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
