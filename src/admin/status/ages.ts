const UNITS: readonly [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A length of time as people read it, in its two largest units: `6 d 23 h`, `4 min 10 s`, `0 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  const first = UNITS.findIndex(([, size]) => whole >= size);
  if (first < 0) return '0 s';
  const parts = UNITS.slice(first, first + 2).map(([name, size], position) => {
    const count = Math.floor((position === 0 ? whole : whole % (UNITS[first]?.[1] ?? 1)) / size);
    return count > 0 ? [`${count} ${name}`] : [];
  });
  return `${seconds < 0 ? '−' : ''}${parts.flat().join(' ')}`;
}

/** How long before `now` an instant was; both ISO 8601. */
export function ago(instant: string, now: string): string {
  return `${durationText(Math.max(0, (Date.parse(now) - Date.parse(instant)) / 1_000))} ago`;
}
