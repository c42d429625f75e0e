import { countText, rateText } from './counts.ts';
import { type Html, html } from './html.ts';

interface Picture {
  /** What is shown: the caption, and the name of the drawing for those who do not see it. */
  readonly title: string;
  /** What there is to see in it, in a sentence. */
  readonly text: string;
  readonly height: number;
  /** Drawn within WIDTH and the height. */
  readonly shapes: Html;
  /** The numbers behind the drawing, with the names of the columns first. */
  readonly table: readonly (readonly string[])[];
}

/** Of every drawing; the page scales it. Exported for tests. */
export const WIDTH = 360;
const TOP = 16;
/** One price among a million still shows, and one event a day. */
const LEAST_HEIGHT = 1.5;

const round = (value: number) => Math.round(value * 10) / 10;

/** Where there is nothing to draw. */
function caption(title: string, text: string): Html {
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption></figure>\n`;
}

/** A drawing with its caption, and its numbers as a table that can be opened. */
function picture({ title, text, height, shapes, table }: Picture): Html {
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption>
${drawing({ title, text, viewBox: `0 0 ${WIDTH} ${height}`, look: 'chart', shapes })}
${tableOf(title, table)}</figure>
`;
}

/** An SVG that says in words what it shows. It holds no script, no style of its own, and nothing from elsewhere. */
function drawing(parts: {
  readonly title: string;
  readonly text: string;
  readonly viewBox: string;
  readonly look: 'chart' | 'bar';
  readonly shapes: Html;
}): Html {
  const { title, text, viewBox, look, shapes } = parts;
  const fit = look === 'bar' ? html` preserveAspectRatio="none"` : null;
  return html`<svg class="${look}" role="img" viewBox="${viewBox}"${fit}><title>${title}</title><desc>${text}</desc>${shapes}</svg>`;
}

function tableOf(title: string, [columns = [], ...rows]: Picture['table']): Html {
  const head = columns.map((name) => html`<th scope="col">${name}</th>`);
  const body = rows.map(
    ([first = '', ...others]) =>
      html`<tr><th scope="row">${first}</th>${others.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  );
  return html`<details><summary>${title} as a table</summary><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></details>`;
}

/** Rectangles that stand on a line, as one path. Coordinates with one digit after the point. */
function uprights(
  bars: readonly { readonly x: number; readonly width: number; readonly height: number }[],
  baseline: number,
): string {
  return bars
    .filter(({ height }) => height > 0)
    .map(({ x, width, height }) => `M${round(x)} ${baseline}v-${round(height)}h${round(width)}V${baseline}z`)
    .join('');
}

/** Part of a whole, as a bar; the text beside it has the numbers. `share`: 0 to 1, others are cut. */
export function shareBar(bar: {
  readonly title: string;
  readonly text: string;
  readonly share: number;
  readonly look: 'good' | 'bad' | 'plain';
}): Html {
  const { title, text, share, look } = bar;
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  const shapes = html`<rect class="rest" width="100" height="1"/><rect class="${look}" width="${width}" height="1"/>`;
  return drawing({ title, text, viewBox: '0 0 100 1', look: 'bar', shapes });
}

/** How many prices are older than the step before and at most this old; null: any age. */
export interface AgeStep {
  readonly atMostSeconds: number | null;
  readonly instruments: number;
}

/** The steps from the youngest to the oldest price, and one before and behind them, so that it shows where they end. Exported for tests. */
export function shownSteps(steps: readonly AgeStep[]): readonly AgeStep[] {
  const first = steps.findIndex(({ instruments }) => instruments > 0);
  if (first < 0) return [];
  const last = steps.findLastIndex(({ instruments }) => instruments > 0);
  return steps.slice(Math.max(0, first - 1), last + 2);
}

/** The bound of a step in one unit: `45 s`, `90 s`, `2 min`, `36 h`. Exported for tests. */
export function boundText(seconds: number | null): string {
  if (seconds === null) return 'older';
  if (seconds < 60 || seconds % 60 !== 0) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

const AGE_BASELINE = 86;
const AGE_HEIGHT = 104;
/** The room that the name of a bound needs. */
const LABEL_WIDTH = 40;

/** How many of the newest prices have which age; words alone where there is no price. */
export function ageChart(title: string, text: string, steps: readonly AgeStep[]): Html {
  const shown = shownSteps(steps);
  if (shown.length === 0) return caption(title, text);
  const width = WIDTH / shown.length;
  const highest = Math.max(...shown.map(({ instruments }) => instruments));
  const bars = shown.map(({ instruments }, at) => ({
    x: at * width,
    width: width - 1,
    height: instruments === 0 ? 0 : Math.max(LEAST_HEIGHT, ((AGE_BASELINE - TOP) * instruments) / highest),
  }));
  // From the end, so that the oldest bound always has its name.
  const every = Math.ceil(LABEL_WIDTH / width);
  const labels = shown.flatMap(({ atMostSeconds }, at) => {
    if ((shown.length - 1 - at) % every !== 0) return [];
    return [
      html`<text x="${round((at + 1) * width - 1)}" y="${AGE_HEIGHT - 5}" text-anchor="end">${boundText(atMostSeconds)}</text>`,
    ];
  });
  const shapes = html`<path class="axis" d="M0 ${AGE_BASELINE}H${WIDTH}"/>
<path class="bars" d="${uprights(bars, AGE_BASELINE)}"/><text x="0" y="11">${countText(highest)} instruments</text>${labels}`;
  const table = shown.map(({ atMostSeconds, instruments }) => [
    atMostSeconds === null ? 'older' : `at most ${boundText(atMostSeconds)}`,
    countText(instruments),
  ]);
  return picture({ title, text, height: AGE_HEIGHT, shapes, table: [['age', 'instruments'], ...table] });
}

/** How far back a drawing goes, and how many minutes a bar is the mean of. */
const SPANS = [
  { minutes: 30, minutesPerBar: 1 },
  { minutes: 60, minutesPerBar: 1 },
  { minutes: 120, minutesPerBar: 2 },
  { minutes: 240, minutesPerBar: 4 },
] as const;

/** Counts by the minute, ready to be drawn. */
interface MinuteBars {
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
function minuteBars(perMinute: readonly number[], most = SPANS[3].minutes): MinuteBars {
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
function spanText(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  return [...(hours > 0 ? [`${hours} h`] : []), ...(rest > 0 || hours === 0 ? [`${rest} min`] : [])].join(' ');
}

const MINUTE_BASELINE = 72;
const MINUTE_HEIGHT = 88;

/** What was written in each of the last minutes; words alone where that was nothing. */
export function minuteChart(title: string, perMinute: readonly number[]): Html {
  const { spanMinutes, minutesPerBar, slots, rates, text } = minuteBars(perMinute);
  const top = Math.max(0, ...rates);
  if (top === 0) return caption(title, text);
  const width = WIDTH / slots;
  const bars = rates.map((rate, at) => ({
    x: (slots - rates.length + at) * width,
    width: width - 1,
    height: rate === 0 ? 0 : Math.max(LEAST_HEIGHT, ((MINUTE_BASELINE - TOP) * rate) / top),
  }));
  const isYoung = rates.length < slots - 1;
  const shapes = html`<path class="axis" d="M0 ${MINUTE_BASELINE}H${WIDTH}"/>${isYoung ? start((slots - rates.length) * width) : null}
<path class="bars" d="${uprights(bars, MINUTE_BASELINE)}"/>
<text x="0" y="11">${rateText(top)} a minute</text><text x="0" y="${MINUTE_HEIGHT - 3}">${spanText(spanMinutes)} ago</text>
<text x="${WIDTH}" y="${MINUTE_HEIGHT - 3}" text-anchor="end">now</text>`;
  const table = rates.map((rate, at) => [
    `${spanText((rates.length - at) * minutesPerBar)} ago`,
    minutesPerBar === 1 ? countText(rate) : rateText(rate),
  ]);
  return picture({ title, text, height: MINUTE_HEIGHT, shapes, table: [['began', 'a minute'], ...table.reverse()] });
}

/** Where the counts begin: the process is younger than the drawing. */
function start(x: number): Html {
  // Not over the names at both ends.
  const isNameShown = x > 100 && x < WIDTH - 60;
  const name = html`<text x="${x}" y="${MINUTE_HEIGHT - 3}" text-anchor="middle">start</text>`;
  return html`<path class="start" d="M${x} ${TOP}V${MINUTE_BASELINE}"/>${isNameShown ? name : null}`;
}
