import type { Clock } from './clock.ts';

/** Keeps a value that is expensive to find and is requested often. */
export function keptValue<Value>(
  find: () => Promise<Value>,
  { keepMs, clock }: { readonly keepMs: number; readonly clock: Pick<Clock, 'monotonicMs'> },
) {
  let search: { readonly value: Promise<Value>; untilMs: number } | null = null;
  return {
    /** All calls get the result of one search, until `keepMs` after the end of this search. A failure is not kept. */
    get() {
      if (search !== null && clock.monotonicMs() < search.untilMs) return search.value;
      const mine = { value: find(), untilMs: Number.POSITIVE_INFINITY };
      search = mine;
      mine.value.then(
        () => {
          mine.untilMs = clock.monotonicMs() + keepMs;
        },
        () => {
          if (search === mine) search = null;
        },
      );
      return mine.value;
    },
    /** Discards the kept value, and the result of a running search. */
    forget() {
      search = null;
    },
  };
}
