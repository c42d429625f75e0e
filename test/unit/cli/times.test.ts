import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastTimeMs } from '../../../src/cli/times.ts';

test('a time has its zone and a day that there is, or is so long ago', () => {
  assert.equal(pastTimeMs('2026-02-28T12:00:00+01:00'), Date.UTC(2026, 1, 28, 11));
  assert.equal(pastTimeMs('2026-02-28T12:00Z'), Date.UTC(2026, 1, 28, 12));
  assert.ok(Math.abs(Date.now() - 3_600_000 - pastTimeMs('1h')) < 60_000);
  for (const text of ['2026-02-29T12:00:00Z', '2026-02-31T00:00:00Z', '2026-02-28T12:00:00', '2026-02-28', 'x']) {
    assert.throws(() => pastTimeMs(text), /Expected a time with its zone/, text);
  }
});

test('however long ago it is, it is a time that can be shown', () => {
  assert.equal(new Date(pastTimeMs('99999999d')).toISOString(), '1970-01-01T00:00:00.000Z');
});
