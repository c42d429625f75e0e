import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchKafka, watchTopics } from '../../../src/run/connector.ts';
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

test('a process that was suspended for longer does not take Kafka for silent', async () => {
  const clock = skippingClock();
  const [seen, stop]: [unknown[], AbortController] = [[], new AbortController()];
  let [looks, answered] = [0, clock.monotonicMs()];
  const sleep = async (ms: number, signal?: AbortSignal) => {
    looks += 1;
    await clock.sleep(looks === 5 ? 22_000 : ms, signal);
    // The first answer comes two looks after it goes on.
    if (looks !== 5 && looks !== 6) answered = clock.monotonicMs();
    if (looks === 20) stop.abort();
  };
  const events = {
    kafkaSilent: (event: object) => seen.push(event),
    kafkaAnswers: (event: object) => seen.push(event),
  };
  await watchKafka({ answeredMs: () => answered }, events, { ...clock, sleep }, stop.signal);
  assert.deepEqual(seen, []);
});

test('a topic that two looks in a row do not find any more is shown as deleted until it is found again', async () => {
  const clock = skippingClock();
  const stop = new AbortController();
  const [both, one, none] = [['a', 'b'], ['a'], []];
  const looks = [one, both, none, both, one, null, one, both];
  const topicIds = async () => {
    const names = looks.shift();
    if (names === undefined) stop.abort();
    if (!names) throw new Error('No broker answers.');
    return new Map(names.map((name) => [name, 'id']));
  };
  const shown: (readonly string[])[] = [];
  const board = { topicsMissing: (names: readonly string[]) => shown.push(names) };
  await watchTopics({ topicIds }, ['a', 'b'], board, clock, stop.signal);
  assert.deepEqual(shown.slice(0, -1), [[], [], [], [], [], [], ['b'], []], 'b is unknown at the first look');
});
