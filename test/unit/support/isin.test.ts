import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isIsin } from '../../../src/support/isin.ts';

test('an ISIN has two letters, nine signs and the check digit that they make', () => {
  for (const isin of ['CH0012032048', 'US0378331005', 'DE000BAY0017', 'AU0000XVGZA3', 'GB0002634946', 'XS0000000009']) {
    assert.ok(isIsin(isin), isin);
  }
  for (const text of [
    'CH0012032049',
    'CH0012023048',
    'ch0012032048',
    'CH001203204',
    'CH00120320488',
    'C10012032048',
    '',
    ' CH0012032048',
  ]) {
    assert.ok(!isIsin(text), text);
  }
});
