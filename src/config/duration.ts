const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A whole number and its unit: `30s`, `250ms`, `5m`, `24h`, `7d`. */
export const DURATION_PATTERN = /^([0-9]{1,9})(ms|s|m|h|d)$/;

export function durationMs(text: string): number | undefined {
  const [, amount, unit] = DURATION_PATTERN.exec(text) ?? [];
  const unitMs = unit === undefined ? undefined : UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** Writes milliseconds as the settings do, in the largest unit that gives a whole number. */
export function durationText(ms: number): string {
  const units = Object.entries(UNITS_MS).reverse();
  const [name, unitMs] = units.find(([, unit]) => ms % unit === 0) ?? ['ms', 1];
  return `${ms / unitMs}${name}`;
}
