/** Durations in whole milliseconds: fractions only make lines longer. */
export function roundedDurations(event: object): Record<string, unknown> {
  const entries = Object.entries(event).map(([name, value]) => [
    name,
    name.endsWith('Ms') && typeof value === 'number' ? Math.round(value) : value,
  ]);
  return Object.fromEntries(entries);
}
