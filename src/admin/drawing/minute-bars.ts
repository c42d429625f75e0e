import { countText, rateText } from './counts.ts';

/** How far back a drawing goes, and how many minutes a bar is the mean of. */
const SPANS = [
  { minutes: 30, minutesPerBar: 1 },
  { minutes: 60, minutesPerBar: 1 },
  { minutes: 120, minutesPerBar: 2 },
  { minutes: 240, minutesPerBar: 4 },
] as const;

/** Counts by the minute, ready to be drawn. */
export interface MinuteBars {
  /** How far back the drawing goes; where there are fewer bars, the process is younger. */
  readonly spanMinutes: number;
  readonly minutesPerBar: number;
  /** How many bars there is room for; the newest one stands at the end. */
  readonly slots: number;
  /** The mean of each bar's minutes, the oldest first; the minute under way is left out. */
  readonly rates: readonly number[];
  readonly highest: number;
  /** What the drawing shows, in a sentence. */
  readonly text: string;
}

/**
 * @param perMinute the oldest first; the last minute is under way
 * @param most the span that is long enough, in minutes
 */
export function minuteBars(perMinute: readonly number[], most = SPANS[3].minutes): MinuteBars {
  const complete = perMinute.slice(0, -1).slice(-most);
  const span = SPANS.find(({ minutes }) => minutes >= complete.length || minutes >= most) ?? SPANS[3];
  const { minutes: spanMinutes, minutesPerBar } = span;
  const slots = spanMinutes / minutesPerBar;
  const rates: number[] = [];
  for (let end = complete.length; end > 0; end -= minutesPerBar) {
    const minutes = complete.slice(Math.max(0, end - minutesPerBar), end);
    rates.unshift(minutes.reduce((sum, count) => sum + count, 0) / minutes.length);
  }
  const highest = Math.max(0, ...complete);
  const isYoung = complete.length < spanMinutes - 1;
  return { spanMinutes, minutesPerBar, slots, rates, highest, text: sentence(perMinute, complete, isYoung) };
}

function sentence(perMinute: readonly number[], complete: readonly number[], isYoung: boolean): string {
  const sum = complete.reduce((total, count) => total + count, 0);
  const now = perMinute.at(-1) ?? 0;
  if (complete.length === 0) return `${countText(now)} so far, in the first minute since the start`;
  const span = isYoung ? `since the start ${spanText(complete.length)} ago` : `in ${spanText(complete.length + 1)}`;
  if (sum + now === 0) return `none ${span}`;
  const highest = countText(Math.max(...complete));
  return `${countText(complete.at(-1) ?? 0)} in the last minute; ${rateText(sum / complete.length)} on average and at most ${highest} ${span}`;
}

/** `30 min`, `4 h`, `1 h 20 min`. */
export function spanText(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  return [...(hours > 0 ? [`${hours} h`] : []), ...(rest > 0 || hours === 0 ? [`${rest} min`] : [])].join(' ');
}
