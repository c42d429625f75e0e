import { type AgeStep, boundText, shownSteps } from './age-bars.ts';
import { countText } from './counts.ts';
import { type Html, html } from './html.ts';
import { caption, picture, uprights, WIDTH } from './picture.ts';

const TOP = 16;
const BASELINE = 86;
const HEIGHT = 104;
/** One price among a million still shows. */
const LEAST_HEIGHT = 1.5;
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
    height: instruments === 0 ? 0 : Math.max(LEAST_HEIGHT, ((BASELINE - TOP) * instruments) / highest),
  }));
  // From the end, so that the oldest bound always has its name.
  const every = Math.ceil(LABEL_WIDTH / width);
  const labels = shown.flatMap(({ atMostSeconds }, at) => {
    if ((shown.length - 1 - at) % every !== 0) return [];
    return [
      html`<text x="${round((at + 1) * width - 1)}" y="${HEIGHT - 5}" text-anchor="end">${boundText(atMostSeconds)}</text>`,
    ];
  });
  const shapes = html`<path class="axis" d="M0 ${BASELINE}H${WIDTH}"/>
<path class="bars" d="${uprights(bars, BASELINE)}"/><text x="0" y="11">${countText(highest)} instruments</text>${labels}`;
  const table = shown.map(({ atMostSeconds, instruments }) => [
    atMostSeconds === null ? 'older' : `at most ${boundText(atMostSeconds)}`,
    countText(instruments),
  ]);
  return picture({ title, text, height: HEIGHT, shapes, table: [['age', 'instruments'], ...table] });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
