import fc from 'fast-check';

/** What happens to an instruments topic, to the provider and to the process, one after the other. */
export type ProcessorStep =
  /** A record is written to the topic; `isin` null is an instrument without one. */
  | { readonly kind: 'write'; readonly id: number; readonly news: 'live'; readonly isin: number | null }
  | { readonly kind: 'write'; readonly id: number; readonly news: 'gone' | 'unreadable' }
  | { readonly kind: 'read'; readonly records: number }
  | { readonly kind: 'pass'; readonly ms: number }
  /**
   * The provider answers one of the batches that are asked for, or a part of it; the items of these ids fail with this
   * status, or are found to have spoilt the call.
   */
  | {
      readonly kind: 'answer';
      readonly batch: number;
      readonly part: 'all' | 'first' | 'last';
      readonly failing: readonly number[];
      readonly status: number | null;
      readonly isSpoilt: boolean;
    }
  /** The process reads on while a commit is under way; then it goes on, or dies before or after the commit took place. */
  | { readonly kind: 'commit'; readonly readsMeanwhile: number; readonly ends: 'well' | 'diedBefore' | 'diedAfter' }
  | { readonly kind: 'crash' };

const ids = fc.integer({ min: 0, max: 5 });
const news = fc.oneof(
  { weight: 6, arbitrary: fc.record({ news: fc.constant('live' as const), isin: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 1, arbitrary: fc.constant({ news: 'live' as const, isin: null }) },
  { weight: 2, arbitrary: fc.constantFrom({ news: 'gone' as const }, { news: 'unreadable' as const }) },
);
const write = fc.tuple(ids, news).map(([id, what]): ProcessorStep => ({ kind: 'write', id, ...what }));
const read = fc.integer({ min: 1, max: 4 }).map((records): ProcessorStep => ({ kind: 'read', records }));
const pass = fc.constantFrom(100, 1_000, 20_000, 60_000).map((ms): ProcessorStep => ({ kind: 'pass', ms }));
const answer = fc.record({
  kind: fc.constant('answer' as const),
  batch: fc.nat(3),
  part: fc.constantFrom('all' as const, 'all' as const, 'first' as const, 'last' as const),
  failing: fc.oneof(fc.constant([]), fc.constant([0, 1, 2, 3, 4, 5]), fc.array(ids, { minLength: 2, maxLength: 8 })),
  status: fc.constantFrom(500, 500, 500, 404, null),
  isSpoilt: fc.integer({ min: 0, max: 4 }).map((chance) => chance === 0),
});
const commit = fc.record({
  kind: fc.constant('commit' as const),
  readsMeanwhile: fc.nat(2),
  ends: fc.oneof(
    { weight: 8, arbitrary: fc.constant('well' as const) },
    { weight: 1, arbitrary: fc.constantFrom('diedBefore' as const, 'diedAfter' as const) },
  ),
});

export interface ProcessorScenario {
  /** Nothing that is asked for of this kind is ever answered. The first one is that which answers records. */
  readonly held: 'overview' | 'daily' | null;
  readonly steps: readonly ProcessorStep[];
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: write },
    { weight: 4, arbitrary: read },
    { weight: 3, arbitrary: pass },
    { weight: 4, arbitrary: answer },
    { weight: 4, arbitrary: commit },
    { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
  ),
  { minLength: 20, maxLength: 120 },
);

export const processorScenarios: fc.Arbitrary<ProcessorScenario> = fc.record({
  held: fc.constantFrom('overview' as const, 'daily' as const, 'daily' as const, null, null),
  steps,
});
