import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationMs } from '../../../src/config/duration.ts';

test('a duration is a whole number and a unit', () => {
  const texts = ['250ms', '30s', '5m', '24h', '7d', '0s'];
  assert.deepEqual(texts.map(durationMs), [250, 30_000, 300_000, 86_400_000, 604_800_000, 0]);
});

test('anything else is no duration', () => {
  for (const text of ['', '30', 's', '1.5s', '-1s', ' 30s', '30 s', '30S', '1h30m', '1e3s', '9999999999s', '30s\n']) {
    assert.equal(durationMs(text), undefined, JSON.stringify(text));
  }
});
