/** A count for people: `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count with its noun: `1 event`, `12,345 events`. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A rate for people, with a digit after the point where it is small: `1,204`, `12`, `0.3`. */
export function rateText(rate: number): string {
  return rate > 0 && rate < 10 ? String(Math.round(rate * 10) / 10) : countText(Math.round(rate));
}
