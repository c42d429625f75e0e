/** Returns a random number in [0, 1). The function is passed in, so that tests and simulations repeat exactly. */
export type Random = () => number;

export interface BackOff {
  readonly initialMs: number;
  readonly maximumMs: number;
}

/** The wait in milliseconds after n consecutive failures (n from 1): exponential, capped, half of it random. */
export function backOffMs(failures: number, backOff: BackOff, random: Random): number {
  const ceiling = Math.min(backOff.maximumMs, backOff.initialMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceiling / 2 + (random() * ceiling) / 2);
}
