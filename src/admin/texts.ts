/** A count for people: `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count with its noun: `1 event`, `12,345 events`. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A rate for people; a small rate has a digit after the point: `1,204`, `12`, `0.3`. */
export function rateText(rate: number): string {
  return rate > 0 && rate < 10 ? String(Math.round(rate * 10) / 10) : countText(Math.round(rate));
}

const UNITS: readonly [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** The time of day of an instant, with its date if that is not the date of `now`. Both are in ISO 8601. */
export function timeText(at: string, now: string): string {
  const date = at.slice(0, 10);
  return `${date === now.slice(0, 10) ? '' : `${date} `}${at.slice(11, 19)} UTC`;
}

/** A duration for people, in its two largest units: `6 d 23 h`, `4 min 10 s`, `0 s`. */
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

/** Seconds from one instant to a later one, both ISO 8601; never negative. */
export function secondsBetween(instant: string, later: string): number {
  return Math.max(0, (Date.parse(later) - Date.parse(instant)) / 1_000);
}

export function ago(instant: string, now: string): string {
  return `${durationText(secondsBetween(instant, now))} ago`;
}
