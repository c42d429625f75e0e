/** How many prices are older than the step before and at most this old; null: any age. */
export interface AgeStep {
  readonly atMostSeconds: number | null;
  readonly instruments: number;
}

/** The steps from the youngest to the oldest price, and one before and behind them, so that it shows where they end. */
export function shownSteps(steps: readonly AgeStep[]): readonly AgeStep[] {
  const first = steps.findIndex(({ instruments }) => instruments > 0);
  if (first < 0) return [];
  const last = steps.findLastIndex(({ instruments }) => instruments > 0);
  return steps.slice(Math.max(0, first - 1), last + 2);
}

/** The bound of a step in one unit: `45 s`, `90 s`, `2 min`, `36 h`. */
export function boundText(seconds: number | null): string {
  if (seconds === null) return 'older';
  if (seconds < 60 || seconds % 60 !== 0) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}
