import type { Source } from '../connector/offset-partition.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { retry } from '../support/retry.ts';

const BACK_OFF: BackOff = { initialMs: 1_000, maximumMs: 60_000 };

/**
 * Prepares the sources of the settings, those too that another replica runs: this one may take them over at any moment, and
 * their schemas are then known. Nothing waits for it; what fails here fails again, and is reported, where it is needed.
 */
export function prepareSources(options: {
  readonly sources: readonly Source[];
  /** Whether the topics of a source are as they must be. */
  readonly areVerified: (source: Source) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}): void {
  const { sources, areVerified, clock, random, signal } = options;
  for (const source of sources.filter(areVerified)) {
    const prepare = async () => source.prepare?.(signal);
    retry(prepare, { backOff: BACK_OFF, clock, random, signal }).catch(() => {});
  }
}
