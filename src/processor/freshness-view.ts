import { setImmediate as afterOtherWork } from 'node:timers/promises';
import type { Freshness } from '../observability/processor-events.ts';
import type { Clock } from '../support/clock.ts';
import { keptValue } from '../support/kept-value.ts';
import { type AskedKind, type FreshnessTask, freshnessSteps } from './freshness.ts';

/** An answer serves for so long, however often it is asked for. */
const KEPT_MS = 1_000;

/**
 * How fresh the prices are, for pages, metrics and tools that ask at any rate. A pass over all instruments is made at
 * most once a second, and in small steps: the event loop is never held up by it.
 */
export interface FreshnessView {
  /** As of the last pass; makes one at once where there was none. */
  newest(): Freshness;
  /** Resolves when the newest is at most a second old. */
  refreshed(): Promise<void>;
}

export function createFreshnessView(
  tasks: () => readonly FreshnessTask[],
  kinds: readonly [AskedKind, ...AskedKind[]],
  clock: Pick<Clock, 'monotonicMs'>,
): FreshnessView {
  let newest: Freshness | null = null;
  const begin = () => freshnessSteps(tasks(), kinds, clock.monotonicMs());
  const passes = keptValue(
    async () => {
      newest = await inSteps(begin());
    },
    { keepMs: KEPT_MS, clock },
  );
  return {
    newest() {
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
