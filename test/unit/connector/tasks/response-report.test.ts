import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterCounts } from '../../../../src/connector/tasks/response-report.ts';

test('dead letters are distinguished by why they are, each counted once', () => {
  const failure = { kind: 'failure', key: '1', tooLarge: false };
  const rows = [
    { kind: 'record', key: '1' },
    failure,
    { ...failure, key: null },
    { ...failure, tooLarge: true },
    { ...failure, key: null, tooLarge: true },
    undefined,
  ];
  assert.deepEqual(deadLetterCounts(rows), { deadLetters: 4, deadLettersTooLarge: 2, deadLettersWithoutKey: 1 });
  assert.deepEqual(deadLetterCounts([]), { deadLetters: 0, deadLettersTooLarge: 0, deadLettersWithoutKey: 0 });
});
