import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordText } from '../../../src/cli/record-text.ts';

const PLACE = { topic: 'p.prices', key: '42', partition: 1, offset: '7', timestamp: '2026-01-02T03:04:05Z' };
const HEAD = 'p.prices, key 42, partition 1, offset 7, 2026-01-02T03:04:05Z';

test('a tombstone says why, where its headers do', () => {
  assert.equal(recordText({ ...PLACE, value: null }), `${HEAD}\n  deleted\n\n`);
  const headers = { 'spc-source': 'prices', 'spc-reason': 'no-price', 'spc-problem': 'status 404' };
  assert.equal(recordText({ ...PLACE, value: null, headers }), `${HEAD}\n  deleted (no-price, status 404)\n\n`);
  const byWalk = { 'spc-walk': '3' };
  assert.match(recordText({ ...PLACE, value: null, headers: byWalk }), /^ {2}deleted \(walk 3\)$/m);
  const byEvent = { ...byWalk, 'spc-event-type': 'repayment' };
  assert.match(recordText({ ...PLACE, value: null, headers: byEvent }), /^ {2}deleted \(repayment\)$/m);
});

test('a record of the dead letters says why it is one, and where the problem is', () => {
  const headers = { '__connect.errors.exception.message': 'expected a number', 'spc-pointer': '/issuePrice' };
  const text = recordText({ ...PLACE, value: '{"issuePrice":"x"}', headers });
  assert.equal(text, `${HEAD}, expected a number at /issuePrice\n  {"issuePrice":"x"}\n\n`);
});
