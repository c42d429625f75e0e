import fc from 'fast-check';
import type { CallFate } from './processor-calls.ts';

/** How an item makes its whole call fail; `later`: with 503 and `Retry-After`. */
export const SPOIL_KINDS = ['hang', 'reset', 'mismatch', 400, 403, 413, 422, 500, 503, 'later'] as const;
export type Spoil = (typeof SPOIL_KINDS)[number];

/** What happens to an instruments topic, to the provider and to the process, one after the other. */
export type ProcessorStep =
  /** A record is written to the topic; `isin` null is an instrument without one. */
  | { readonly kind: 'write'; readonly id: number; readonly news: 'live'; readonly isin: number | null }
  | { readonly kind: 'write'; readonly id: number; readonly news: 'gone' | 'unreadable' }
  | { readonly kind: 'read'; readonly records: number }
  | { readonly kind: 'pass'; readonly ms: number }
  /** The provider answers one of the calls, unless it hangs; some items have a problem, or the whole call fails. */
  | ({ readonly kind: 'answer'; readonly call: number } & CallFate)
  /** The process reads on while a commit is under way; then it goes on, or dies before or after the commit took place. */
  | { readonly kind: 'commit'; readonly readsMeanwhile: number; readonly ends: 'well' | 'diedBefore' | 'diedAfter' }
  /** The items that spoil their calls do so no longer. */
  | { readonly kind: 'heal' }
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
  call: fc.nat(5),
  failing: fc.oneof(fc.constant([]), fc.constant([0, 1, 2, 3, 4, 5]), fc.array(ids, { minLength: 2, maxLength: 8 })),
  status: fc.constantFrom(500, 500, 500, 404, null),
  isStumble: fc.integer({ min: 0, max: 6 }).map((chance) => chance === 0),
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
  /** Isins that spoil every call that asks for them, and how. */
  readonly spoilers: readonly number[];
  readonly spoil: Spoil;
  readonly steps: readonly ProcessorStep[];
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: write },
    { weight: 4, arbitrary: read },
    { weight: 3, arbitrary: pass },
    { weight: 4, arbitrary: answer },
    { weight: 4, arbitrary: commit },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'crash' as const }, { kind: 'heal' as const }) },
  ),
  { minLength: 20, maxLength: 120 },
);

export const processorScenarios: fc.Arbitrary<ProcessorScenario> = fc.record({
  held: fc.constantFrom('overview' as const, 'daily' as const, 'daily' as const, null, null),
  spoilers: fc.oneof(fc.constant([]), fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 })),
  spoil: fc.constantFrom(...SPOIL_KINDS),
  steps,
});
