import type { Freshness, KindFreshness } from '../observability/processor-events.ts';
import { AgeCounts } from './age-counts.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { PriceState } from './core/price-state.ts';
import type { RefreshPlan } from './core/refresh-plan.ts';
import type { PartitionTask } from './partition-task.ts';

/** In intervals: an instrument without a newer price is overdue. */
const OVERDUE_INTERVALS = 1.5;
/** So many instruments are looked at in one step: a few milliseconds on a slow machine. */
const INSTRUMENTS_AT_ONCE = 2_000;

export interface AskedKind {
  readonly kind: PriceKind;
  readonly refreshIntervalMs: number;
}

export type FreshnessTask = Pick<PartitionTask, 'core' | 'lag' | 'unreadable'>;

/** How fresh the prices of each kind are, over all tasks; a step ends after so many instruments. */
export function* freshnessSteps(
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
      // The plans have the order of the kinds in the settings.
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
    // One that was priced since the pass began is new.
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
