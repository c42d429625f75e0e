import type { Random } from './back-off.ts';

/** The real randomness. */
export const systemRandom: Random = Math.random;
