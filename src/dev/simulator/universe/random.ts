/**
 * A 32-bit hash of two numbers. Each value of an instrument is `mix(key, salt)` with a separate salt, not the next
 * number of a sequence. So each field can be generated alone, in any order.
 */
export function mix(value: number, salt: number): number {
  let hash = (value ^ Math.imul(salt + 1, 0x9e3779b1)) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export interface Choices {
  below(limit: number): number;
  chance(probability: number): boolean;
  of<T>(values: readonly T[]): T;
}

export function createChoices(seed: number): Choices {
  let state = mix(seed, 0x5eed);
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mix(state, 0x51ed);
  };
  const below = (limit: number) => Math.floor((next() / 0x1_0000_0000) * limit);
  return {
    below,
    chance: (probability) => next() / 0x1_0000_0000 < probability,
    of(values) {
      const value = values[below(values.length)];
      if (value === undefined) throw new Error('There is nothing to choose from.');
      return value;
    },
  };
}

const BILLION = 1_000_000_000;

/** `count` decimal digits from a key and a salt, as text, so that no digit is rounded by a double. */
export function digits(key: number, salt: number, count: number): string {
  let text = '';
  for (let block = 0; text.length < count; block++) {
    text += String(BILLION + (mix(key, salt + block * 104_729) % BILLION)).slice(1);
  }
  return text.slice(0, count);
}
