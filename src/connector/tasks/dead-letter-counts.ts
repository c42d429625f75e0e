import type { DeadLetterCounts } from '../../observability/connector-events.ts';

/** How many of some rows are dead letters, and why. */
export function deadLetterCounts(
  rows: readonly ({ readonly kind: string; readonly key: string | null; readonly tooLarge?: boolean } | undefined)[],
): DeadLetterCounts {
  const failures = rows.filter((row) => row?.kind === 'failure');
  const tooLarge = failures.filter((row) => row?.tooLarge);
  const withoutKey = failures.filter((row) => row?.key === null && !row.tooLarge);
  return {
    deadLetters: failures.length,
    deadLettersTooLarge: tooLarge.length,
    deadLettersWithoutKey: withoutKey.length,
  };
}
