import { countText, rateText } from './counts.ts';
import { type Html, html } from './html.ts';
import { minuteBars, spanText } from './minute-bars.ts';
import { caption, picture, uprights, WIDTH } from './picture.ts';

const TOP = 16;
const BASELINE = 72;
const HEIGHT = 88;
/** One event a day still shows. */
const LEAST_HEIGHT = 1.5;

/** What was written in each of the last minutes; words alone where that was nothing. */
export function minuteChart(title: string, perMinute: readonly number[]): Html {
  const { spanMinutes, minutesPerBar, slots, rates, text } = minuteBars(perMinute);
  const top = Math.max(0, ...rates);
  if (top === 0) return caption(title, text);
  const width = WIDTH / slots;
  const bars = rates.map((rate, at) => ({
    x: (slots - rates.length + at) * width,
    width: width - 1,
    height: rate === 0 ? 0 : Math.max(LEAST_HEIGHT, ((BASELINE - TOP) * rate) / top),
  }));
  const isYoung = rates.length < slots - 1;
  const shapes = html`<path class="axis" d="M0 ${BASELINE}H${WIDTH}"/>${isYoung ? start((slots - rates.length) * width) : null}
<path class="bars" d="${uprights(bars, BASELINE)}"/>
<text x="0" y="11">${rateText(top)} a minute</text><text x="0" y="${HEIGHT - 3}">${spanText(spanMinutes)} ago</text>
<text x="${WIDTH}" y="${HEIGHT - 3}" text-anchor="end">now</text>`;
  const table = rates.map((rate, at) => [
    `${spanText((rates.length - at) * minutesPerBar)} ago`,
    minutesPerBar === 1 ? countText(rate) : rateText(rate),
  ]);
  return picture({ title, text, height: HEIGHT, shapes, table: [['began', 'a minute'], ...table.reverse()] });
}

/** Where the counts begin: the process is younger than the drawing. */
function start(x: number): Html {
  // Not over the names at both ends.
  const isNameShown = x > 100 && x < WIDTH - 60;
  const name = html`<text x="${x}" y="${HEIGHT - 3}" text-anchor="middle">start</text>`;
  return html`<path class="start" d="M${x} ${TOP}V${BASELINE}"/>${isNameShown ? name : null}`;
}
