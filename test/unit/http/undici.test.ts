import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as undici from 'undici';
import { Pool, ProxyAgent } from '../../../src/http/undici.ts';

test('what is loaded of undici is what its index exports', () => {
  assert.equal(Pool, undici.Pool);
  assert.equal(ProxyAgent, undici.ProxyAgent);
});
