import type { Random } from './back-off.ts';

export const systemRandom: Random = Math.random;
