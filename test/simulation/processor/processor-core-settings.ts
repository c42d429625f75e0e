import type { PartitionCoreSettings } from '../../../src/prices/core/core-messages.ts';
import { coreSettings as settingsWith } from '../../support/priced-core.ts';

export const KINDS = ['overview', 'daily'] as const;
export const REFRESH_MS = 60_000;
export const MAX_ITEMS = 3;
export const LINGER_MS = 250;
/** How long a record, and the price of an earlier isin, may wait for an answer while nothing is being committed. */
export const PATIENCE_MS = 30_000;

/** Of the processor in the model. */
export function coreSettings(reported: PartitionCoreSettings['reported']): PartitionCoreSettings {
  const kinds = KINDS.map((kind) => ({ kind, refreshIntervalMs: REFRESH_MS }));
  const maxItems = () => MAX_ITEMS;
  return settingsWith({
    kinds,
    lingerMs: LINGER_MS,
    answerWithinMs: PATIENCE_MS,
    maxItems,
    maxBackoffMs: 120_000,
    reported,
  });
}
