import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { loadKafkajs } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';

loadKafkajs();
const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/connection.js');
const symbols = Object.getOwnPropertySymbols(prototype);
const shouldReauthenticate = prototype[symbols.find(({ description = '' }) => /shouldReauth/.test(description)) ?? ''];

/** Whether a connection logs in again, by the life of its session and the time since its login. */
function isDue(sessionMs: number, sinceMs: number): boolean {
  const [seconds, nanoseconds] = process.hrtime();
  const ms = seconds * 1_000 + nanoseconds / 1e6 - sinceMs;
  const authenticatedAt: [number, number] = [Math.floor(ms / 1_000), Math.floor((ms % 1_000) * 1e6)];
  return shouldReauthenticate.call({ authenticatedAt, sessionLifetime: { toString: () => String(sessionMs) } });
}

test('a connection logs in again when most of its session has passed, and never twice within a second', () => {
  for (const sessionMs of [500, 1_000, 1_200]) assert.equal(isDue(sessionMs, 900), false, `${sessionMs}`);
  assert.equal(isDue(500, 1_200), true);
  assert.equal(isDue(4_000, 3_000), false);
  assert.equal(isDue(4_000, 3_500), true);
  assert.equal(isDue(3_600_000, 3_000_000), false);
  assert.equal(isDue(3_600_000, 3_100_000), true);
});

test('a session without an end is never renewed, one without a login is at once', () => {
  assert.equal(isDue(0, 1e9), false);
  const sessionLifetime = { toString: () => '4000' };
  assert.equal(shouldReauthenticate.call({ authenticatedAt: null, sessionLifetime }), true);
});
