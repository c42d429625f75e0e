import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchKafka } from '../../../src/run/connector.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

test('a Kafka that does not answer is one event after 10 s, and one when it answers again', async () => {
  const clock = skippingClock();
  const startedMs = clock.monotonicMs();
  const [seen, stop]: [unknown[], AbortController] = [[], new AbortController()];
  const answeredMs = () => {
    const afterMs = clock.monotonicMs() - startedMs;
    if (afterMs >= 60_000) stop.abort();
    return afterMs < 5_000 || afterMs >= 45_000 ? clock.monotonicMs() : startedMs + 5_000;
  };
  const event = (name: string) => (fields: object) => seen.push([name, fields, clock.monotonicMs() - startedMs]);
  const events = { kafkaSilent: event('silent'), kafkaAnswers: event('answers') };
  await watchKafka({ answeredMs }, events, clock, stop.signal);
  assert.deepEqual(seen, [
    ['silent', { silentMs: 10_000 }, 15_000],
    ['answers', { silentMs: 40_000 }, 45_000],
  ]);
});
