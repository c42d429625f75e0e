export const MIB = 1024 * 1024;

/** To three digits behind the point. */
export function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
