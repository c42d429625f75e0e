import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageChart, boundText, minuteChart, shownSteps, WIDTH } from '../../../../src/admin/drawing/charts.ts';

const STEPS = [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, null].map((atMostSeconds, at) => ({
  atMostSeconds,
  instruments: [0, 0, 10, 40, 0, 0, 0, 1, 0, 0, 0][at] ?? 0,
}));

/** The bars of a drawing: where each begins, and how high and how wide it is. */
function barsOf(html: string): readonly (readonly number[])[] {
  const [, path = ''] = /class="bars" d="([^"]*)"/.exec(html) ?? [];
  return [...path.matchAll(/M([\d.]+) [\d.]+v-([\d.]+)h([\d.]+)/g)].map((match) => match.slice(1).map(Number));
}

test('ages are drawn from the step before the youngest price to the step behind the oldest', () => {
  const shown = shownSteps(STEPS).map(({ atMostSeconds }) => atMostSeconds);
  assert.deepEqual(shown, [2, 5, 10, 20, 30, 45, 60, 90]);
  assert.deepEqual(shownSteps(STEPS.map((step) => ({ ...step, instruments: 0 }))), []);
  assert.deepEqual([null, 1, 60, 90, 120, 3_600, 129_600].map(boundText), [
    'older',
    '1 s',
    '1 min',
    '90 s',
    '2 min',
    '1 h',
    '36 h',
  ]);
});

test('the heights of the bars are the shares of the highest, and a single price shows', () => {
  const { html } = ageChart('Prices by age', 'half below 10 s', STEPS);
  const [five = [], ten = [], minute = [], ...others] = barsOf(html);
  assert.deepEqual(others, []);
  assert.deepEqual([five[1], ten[1], minute[1]], [17.5, 70, 1.8]);
  assert.deepEqual([five[0], ten[0], minute[0]], [45, 90, 270]);
});

test('minutes stand at the end of the drawing, and where the process is younger its start is marked', () => {
  const young = minuteChart('Events a minute', [4, 8, 2, 3]).html;
  const bars = barsOf(young);
  assert.equal(bars.length, 3);
  assert.deepEqual(
    bars.map(([, height]) => height),
    [28, 56, 14],
  );
  assert.ok((bars.at(-1)?.[0] ?? 0) + (bars.at(-1)?.[2] ?? 0) <= WIDTH);
  assert.match(young, /class="start"/);
  assert.match(young, /30 min ago/);
  const old = minuteChart('Events a minute', new Array(240).fill(3)).html;
  assert.doesNotMatch(old, /class="start"/);
  assert.equal(barsOf(old).length, 60);
});
