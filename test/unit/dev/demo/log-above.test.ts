import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logAbove } from '../../../../src/dev/demo/demo.ts';

for (const [isTerminal, isShown, expected] of [
  [true, true, 'live'],
  [true, false, 'line'],
  [false, true, 'line'],
] as const) {
  test(`the log of the demo goes to the ${expected}, a terminal: ${isTerminal}, a block shown: ${isShown}`, () => {
    const written: string[] = [];
    const to = (name: string) => ({ print: (text: string) => void written.push(`${name} ${text}`) });
    const log = logAbove({ line: to('line'), live: { ...to('live'), isShown: () => isShown }, isTerminal });
    log.write('WARN: a thing\n');
    assert.deepEqual(written, [`${expected} WARN: a thing`]);
  });
}
