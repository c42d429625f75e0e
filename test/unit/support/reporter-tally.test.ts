import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTally } from '../../support/runner/reporter-tally.ts';

test('the last line counts steps and tests, and has one form; skipped ones are reported before it', () => {
  const tally = createTally();
  tally.add('types', undefined);
  tally.count({ tests: 3, passed: 3, skipped: 0, todo: 0 });
  assert.equal(tally.report(), '\n4 passed, 0 failed\n');
  tally.count({ tests: 3, passed: 1, skipped: 1, todo: 1 });
  const leftOut = '\nLeft out:\n  Tests that were skipped, each with its reason above: 2\n';
  assert.equal(tally.report(), `${leftOut}\n5 passed, 0 failed\n`);
  assert.equal(tally.isGood(), true);
});

test('whatever neither passed nor was skipped has failed', () => {
  const tally = createTally();
  tally.count({ tests: 5, passed: 2, skipped: 1, todo: 0 });
  assert.match(tally.report(), /: 1\n\n2 passed, 2 failed\n$/);
  assert.equal(tally.isGood(), false);
});

test('what failed and what was left out is listed before the last line', () => {
  const tally = createTally();
  tally.add('lint', 'it ended with code 1');
  tally.note({ failureType: 'subtestsFailed' }, 'a suite');
  tally.note({ failureType: 'testCodeFailure' }, 'a.test.ts: a title');
  tally.warn('Every test that needs Kafka.');
  assert.equal(
    tally.report(),
    '\nFailed:\n  lint: it ended with code 1\n  a.test.ts: a title\n' +
      '\nLeft out:\n  Every test that needs Kafka.\n\n0 passed, 1 failed\n',
  );
  assert.equal(tally.isGood(), false);
});
