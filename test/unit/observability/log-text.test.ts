import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factsText } from '../../../src/observability/log-text.ts';

test('fields are read without quotes, but where a text has spaces; those without a value are left out', () => {
  const fields = { source: 'instruments', rows: 1000, cursor: null, why: 'stopped by SIGINT', kinds: ['overview'] };
  assert.equal(factsText(fields), 'source=instruments rows=1000 why="stopped by SIGINT" kinds=["overview"]');
});

test('an error is its code and message, what else is known of it, and its causes', () => {
  const cause = { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' };
  const err = { type: 'ConnectorError', message: 'No answer.', code: 'KAFKA_UNREACHABLE', action: 'retry', cause };
  const text = 'err=KAFKA_UNREACHABLE: No answer. {"action":"retry"} (because of ECONNREFUSED: connect ECONNREFUSED)';
  assert.equal(factsText({ err }), text);
  assert.equal(factsText({ err: { type: 'TypeError', message: 'no' } }), 'err=TypeError: no');
});
