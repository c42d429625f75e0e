import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTally, type TestCounts } from './reporter-tally.ts';

const ended = (counts: TestCounts, ...titles: string[]) => ({
  counts,
  failures: titles.map((title) => ({ file: 'a.test.ts', title })),
});

test('the last line counts steps and tests, and has one form; skipped ones are reported before it', () => {
  const tally = createTally();
  tally.add('types', undefined);
  tally.count(ended({ tests: 3, passed: 3, skipped: 0, todo: 0 }));
  assert.equal(tally.report(), '\n4 passed, 0 failed\n');
  tally.count(ended({ tests: 3, passed: 1, skipped: 1, todo: 1 }));
  const leftOut = '\nLeft out:\n  Tests that were skipped, each with its reason above: 2\n';
  assert.equal(tally.report(), `${leftOut}\n5 passed, 0 failed\n`);
  assert.equal(tally.isGood(), true);
});

test('whatever neither passed nor was skipped has failed', () => {
  const tally = createTally();
  tally.count(ended({ tests: 5, passed: 2, skipped: 1, todo: 0 }));
  assert.match(tally.report(), /: 1\n\n2 passed, 2 failed\n$/);
  assert.equal(tally.isGood(), false);
});

test('what failed and what was left out is listed before the last line', () => {
  const tally = createTally();
  tally.add('lint', 'it ended with code 1');
  tally.count(ended({ tests: 1, passed: 0, skipped: 0, todo: 0 }, 'a title'));
  tally.warn('Every test that needs Kafka.');
  assert.equal(
    tally.report(),
    '\nFailed:\n  lint: it ended with code 1\n  a.test.ts: a title\n' +
      '\nLeft out:\n  Every test that needs Kafka.\n\n0 passed, 2 failed\n',
  );
  assert.equal(tally.isGood(), false);
});

test('a failure is forgiven when all that failed passed at its second run, and is listed', () => {
  const tally = createTally();
  const first = ended({ tests: 5, passed: 3, skipped: 1, todo: 0 }, 'a title');
  tally.count(first, ended({ tests: 2, passed: 2, skipped: 0, todo: 0 }));
  const listed = '\nFailed at first, and passed when run again alone:\n  a.test.ts: a title\n';
  const skipped = '\nLeft out:\n  Tests that were skipped, each with its reason above: 1\n';
  assert.equal(tally.report(), `${listed}${skipped}\n4 passed, 0 failed\n`);
  assert.equal(tally.isGood(), true);
});

for (const repeated of [
  undefined,
  ended({ tests: 2, passed: 1, skipped: 0, todo: 0 }, 'a title'),
  // Its process ended before it could say which test failed.
  ended({ tests: 2, passed: 1, skipped: 0, todo: 0 }),
  ended({ tests: 2, passed: 2, skipped: 0, todo: 0 }, 'outside its tests'),
]) {
  test(`a failure stays one, run again with ${JSON.stringify(repeated ?? 'nothing')}`, () => {
    const tally = createTally();
    tally.count(ended({ tests: 2, passed: 1, skipped: 0, todo: 0 }, 'a title'), repeated);
    assert.equal(tally.report(), '\nFailed:\n  a.test.ts: a title\n\n1 passed, 1 failed\n');
    assert.equal(tally.isGood(), false);
  });
}
