import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientFor, never, page, serve, text } from './loopback.ts';

test('a request may have less time than the settings give, and its error does not advise to raise them', async (t) => {
  const { url } = await serve(t, () => {});
  const asked = clientFor(t, url, { timeoutMs: 60_000 }).get({ ...page, timeoutMs: 200 }, text, never);
  await assert.rejects(asked, { code: 'PROVIDER_TIMEOUT', message: /longer than 200 ms, (?!.*raise)/ });
});
