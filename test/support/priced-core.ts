import type { PriceResponse, QuestionOutcome } from '../../src/prices/bulk-prices.ts';
import type { Batch } from '../../src/prices/core/batch.ts';
import {
  type CoreTransaction,
  type PartitionCoreSettings,
  ReportedFailures,
} from '../../src/prices/core/core-messages.ts';
import type { PartitionCore } from '../../src/prices/core/partition-core.ts';
import { Repayment } from '../../src/prices/core/price-state.ts';

const DAY_MS = 86_400_000;

export const PRICED: PriceResponse = { kind: 'prices', records: [], isQuotingPulled: null };

export const problem = (status: number | null): PriceResponse => ({ kind: 'problem', status, item: Buffer.from('{}') });

/** Of the latest prices alone, once a minute; `wallMs` is the wall clock at the monotonic time 0. */
export function coreSettings({
  wallMs = () => 0,
  ...others
}: Partial<PartitionCoreSettings> & { readonly wallMs?: () => number } = {}): PartitionCoreSettings {
  return {
    kinds: [{ kind: 'overview', refreshIntervalMs: 60_000 }],
    lingerMs: 0,
    answerWithinMs: 30_000,
    maxItems: () => 500,
    maxBackoffMs: 3_600_000,
    repayment: new Repayment({ repaidAfterMs: 7 * DAY_MS, epochMs: wallMs }),
    epochMs: wallMs(),
    random: () => 0.5,
    reported: new ReportedFailures(),
    ...others,
  };
}

/** Takes the steps of a core that it has to take now, with commits that succeed at once. @returns how long it waits */
export function proceed(
  core: PartitionCore,
  nowMs: number,
  ask: (batch: Batch) => void,
  committing: (transaction: CoreTransaction) => void = () => {},
): number {
  for (;;) {
    const step = core.next(nowMs);
    if (step.kind === 'wait') return step.ms;
    if (step.kind === 'ask') ask(step.batch);
    else {
      committing(step.transaction);
      core.committed(step.transaction, nowMs);
    }
  }
}

export function answerAll(
  core: PartitionCore,
  batch: Batch,
  outcomeOf: (id: string) => QuestionOutcome = () => PRICED,
) {
  const outcomes = batch.questions.map(({ id }) => outcomeOf(id));
  core.answered(batch, [...outcomes.keys()], outcomes);
}
