/** What is wrong with a partition in which every number from 1 to `expected` must stand once, and in order. */
export interface SequenceFaults {
  readonly missing: number;
  readonly twice: number;
  readonly outOfOrder: number;
  /** Numbers that nobody should have written. */
  readonly unexpected: number;
}

export function findSequenceFaults(found: readonly number[], expected: number): SequenceFaults {
  const seen = new Set(found);
  const wanted = Array.from({ length: expected }, (_, index) => index + 1);
  return {
    missing: wanted.filter((number) => !seen.has(number)).length,
    twice: found.length - seen.size,
    outOfOrder: found.filter((number, index) => number < (found[index - 1] ?? 0)).length,
    unexpected: [...seen].filter((number) => number < 1 || number > expected).length,
  };
}
