import type { Clock } from './clock.ts';

/** A value that is expensive to find out and asked for often. */
export function keptValue<Value>(
  find: () => Promise<Value>,
  { keepMs, clock }: { readonly keepMs: number; readonly clock: Pick<Clock, 'monotonicMs'> },
) {
  let search: { readonly value: Promise<Value>; untilMs: number } | null = null;
  return {
    /** One search at a time; callers meanwhile, and for a while after it, get its result. Failures are not kept. */
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
    /** The kept value is out of date, and so is the result of a running search. */
    forget() {
      search = null;
    },
  };
}
