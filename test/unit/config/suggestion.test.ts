import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from '../../../src/config/suggestion.ts';

const KNOWN = ['walkInterval', 'pollInterval', 'limit', 'legalCountry'];

test('a slip leads to the name that was meant', () => {
  const slips = {
    walkIntervall: 'walkInterval',
    poll_interval: 'pollInterval',
    limt: 'limit',
    legalcountry: 'legalCountry',
  };
  for (const [slip, meant] of Object.entries(slips)) assert.equal(nearestName(slip, KNOWN), meant);
});

test('nothing is suggested for a name that is far from all', () => {
  assert.equal(nearestName('prices', KNOWN), undefined);
  assert.equal(nearestName('x'.repeat(100_000), KNOWN), undefined);
});
