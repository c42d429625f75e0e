/** Returns a random number in [0, 1). Tests and simulations pass a function that returns the same numbers each time. */
export type Random = () => number;

export interface BackOff {
  readonly initialMs: number;
  readonly maximumMs: number;
}

/** After an error that only an operator can correct: more attempts could lock the account. */
export const SLOW_BACK_OFF: BackOff = { initialMs: 10_000, maximumMs: 300_000 };

/** The wait after a number of consecutive failures, in ms. It doubles up to `maximumMs`; half of it is random. */
export function backOffMs(failures: number, backOff: BackOff, random: Random): number {
  const ceiling = Math.min(backOff.maximumMs, backOff.initialMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceiling / 2 + (random() * ceiling) / 2);
}
