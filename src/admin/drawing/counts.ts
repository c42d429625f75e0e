/** A count for people: `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A rate for people, with a digit after the point where it is small: `1,204`, `12`, `0.3`. */
export function rateText(rate: number): string {
  return rate > 0 && rate < 10 ? String(Math.round(rate * 10) / 10) : countText(Math.round(rate));
}
