import type { PartitionCoreSettings } from '../../../src/prices/core/core-messages.ts';
import { Repayment } from '../../../src/prices/core/price-state.ts';

export const KINDS = ['overview', 'daily'] as const;
export const REFRESH_MS = 60_000;
export const MAX_ITEMS = 3;
export const LINGER_MS = 250;
/** How long a record, and the price of an earlier isin, may wait for an answer while nothing is being committed. */
export const PATIENCE_MS = 30_000;

/** Of the processor in the model. */
export function coreSettings(reported: PartitionCoreSettings['reported']): PartitionCoreSettings {
  return {
    kinds: KINDS.map((kind) => ({ kind, refreshIntervalMs: REFRESH_MS })),
    lingerMs: LINGER_MS,
    answerWithinMs: PATIENCE_MS,
    maxItems: () => MAX_ITEMS,
    maxBackoffMs: 120_000,
    repayment: new Repayment({ repaidAfterMs: 7 * 86_400_000, epochMs: () => 0 }),
    epochMs: 0,
    random: () => 0.5,
    reported,
  };
}
