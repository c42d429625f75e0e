import { countText, durationText, rateText } from '../texts.ts';
import { type Html, html } from './html.ts';

interface Picture {
  /** The caption, and the name of the drawing for screen readers. */
  readonly title: string;
  readonly text: string;
  readonly bars: readonly number[];
  /** The number of bars that fit; the last bar is at the right end. */
  readonly slots: number;
  readonly unit: string;
  /** Labels below the bars. A label ends at the right edge of its `slot`, counted from 1. Slot 0 is the left end. */
  readonly labels: readonly { readonly slot: number; readonly text: string }[];
}

const [TOP, BASELINE] = [18, 74];
/** The least height of a bar, in pixels: even one price among a million is visible. */
const LEAST_HEIGHT = 1.5;

const round = (value: number) => Math.round(value * 100) / 100;

function caption(title: string, text: string): Html {
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption></figure>\n`;
}

/** Bars with a caption. Horizontal lengths are percentages of the card's width. */
function picture({ title, text, bars, slots, unit, labels }: Picture): Html {
  const highest = Math.max(...bars);
  const width = 100 / slots;
  const rects = bars.flatMap((bar, at) => {
    if (bar === 0) return [];
    const height = round(Math.max(LEAST_HEIGHT, ((BASELINE - TOP) * bar) / highest));
    const x = round((slots - bars.length + at) * width);
    return [html`<rect x="${x}%" y="${round(BASELINE - height)}" width="${round(width * 0.9)}%" height="${height}"/>`];
  });
  const names = labels.map(
    ({ slot, text: name }) => html`<text x="${round(slot * width)}%" y="88"${slot > 0 ? END : null}>${name}</text>`,
  );
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption>
<svg class="chart" role="img"><title>${title}</title><desc>${text}</desc><text x="0" y="12">${rateText(highest)} ${unit}</text>
<g class="bars">${rects}</g><rect class="axis" y="${BASELINE}" width="100%" height="1"/>${names}</svg></figure>
`;
}

const END = html` text-anchor="end"`;

/** A part of a whole. `share`: a number from 0 to 1; a number outside this range is drawn as 0 or 1. */
export interface Share {
  readonly title: string;
  readonly text: string;
  readonly share: number;
  readonly level: string;
}

export function shareBar({ title, text, share, level }: Share): Html {
  const width = round(100 * Math.min(1, Math.max(0, share)));
  return html`<svg class="bar" role="img"><title>${title}</title><desc>${text}</desc><rect class="rest" width="100%" height="100%"/><rect class="${level}" width="${width}%" height="100%"/></svg>`;
}

/** `instruments`: the number of prices up to this age that are in no earlier step. `atMostSeconds`: null if no limit. */
export interface AgeStep {
  readonly atMostSeconds: number | null;
  readonly instruments: number;
}

function boundText(seconds: number | null): string {
  if (seconds === null) return 'older';
  if (seconds < 60 || seconds % 60 !== 0) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

const MOST_LABELS = 7;

/** Draws the ages of the newest prices as bars. If there is no price, returns only the caption. */
export function ageChart(title: string, text: string, steps: readonly AgeStep[]): Html {
  const hasAny = ({ instruments }: AgeStep) => instruments > 0;
  if (!steps.some(hasAny)) return caption(title, text);
  const shown = steps.slice(Math.max(0, steps.findIndex(hasAny) - 1), steps.findLastIndex(hasAny) + 2);
  const every = Math.ceil(shown.length / MOST_LABELS);
  return picture({
    title,
    text,
    bars: shown.map(({ instruments }) => instruments),
    slots: shown.length,
    unit: 'instruments',
    // Labels are counted from the end, so that the greatest age always has a label.
    labels: shown
      .map(({ atMostSeconds }, at) => ({ slot: at + 1, text: boundText(atMostSeconds) }))
      .filter(({ slot }) => (shown.length - slot) % every === 0),
  });
}

const SPANS = [30, 60, 120, 240];
const MOST_MINUTES = 240;
const MOST_BARS = 60;

/** Draws counts per minute as bars. `perMinute` begins with the oldest minute and ends with the current minute. */
export function minuteChart(title: string, perMinute: readonly number[]): Html {
  const complete = perMinute.slice(0, -1);
  const text = sentence(complete, perMinute.at(-1) ?? 0);
  const span = SPANS.find((minutes) => minutes >= complete.length) ?? MOST_MINUTES;
  const minutesPerBar = Math.ceil(span / MOST_BARS);
  const rates: number[] = [];
  for (let end = complete.length; end > 0; end -= minutesPerBar) {
    const minutes = complete.slice(Math.max(0, end - minutesPerBar), end);
    rates.unshift(minutes.reduce((sum, count) => sum + count, 0) / minutes.length);
  }
  if (rates.every((rate) => rate === 0)) return caption(title, text);
  const slots = span / minutesPerBar;
  return picture({
    title,
    text,
    bars: rates,
    slots,
    unit: 'a minute',
    labels: [
      { slot: 0, text: `${durationText(60 * span)} ago` },
      { slot: slots, text: 'now' },
    ],
  });
}

function sentence(complete: readonly number[], now: number): string {
  const sum = complete.reduce((total, count) => total + count, 0);
  if (complete.length === 0) return `${countText(now)} so far, in the first minute since the start`;
  const minutes = complete.length + 1;
  const span = minutes < MOST_MINUTES ? `since the start ${durationText(60 * complete.length)} ago` : 'in 4 h';
  if (sum + now === 0) return `none ${span}`;
  const highest = countText(Math.max(...complete));
  const newest = `${countText(complete.at(-1) ?? 0)} in the last full minute, ${countText(now)} this minute`;
  return `${newest}; ${rateText(sum / complete.length)} on average, at most ${highest} ${span}`;
}
