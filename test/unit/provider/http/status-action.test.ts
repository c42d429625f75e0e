import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionOf } from '../../../../src/provider/http/response-error.ts';

test('each status has its action', () => {
  const expected: Readonly<Record<string, readonly number[]>> = {
    consume: [200, 201, 204],
    renewAuthorization: [401],
    PROVIDER_UNAUTHORIZED: [403],
    PROVIDER_BUSY: [408, 425, 429, 500, 501, 502, 503, 504, 529],
    PROVIDER_ASKS_FOR_LESS: [413],
    PROVIDER_REDIRECT: [300, 301, 302, 303, 304, 307, 308],
    PROVIDER_REFUSED: [400, 402, 404, 405, 409, 410, 414, 422, 431, 451],
    PROTOCOL_VIOLATION: [101, 199, 206, 600, 999],
  };
  for (const [action, statuses] of Object.entries(expected)) {
    for (const status of statuses) assert.equal(actionOf(status), action, String(status));
  }
});
