import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { patiently } from '../../../src/operator/patient-request.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const { signal } = new AbortController();

test('a request that someone waits for is tried again after a short wait, and not after an hour', async () => {
  const clock = skippingClock();
  const answers = [
    new ConnectorError('PROVIDER_BUSY', 'soon', { retryAfterMs: 7_000 }),
    new ConnectorError('PROVIDER_BUSY', 'in an hour', { retryAfterMs: 3_600_000 }),
  ];
  const asked = patiently(() => Promise.reject(answers.shift()), { clock, random: () => 1, signal });
  await assert.rejects(asked, /in an hour/);
  assert.deepEqual(clock.sleepsMs, [7_000]);
});
