import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReadyOptions, untilReady } from '../../../src/local-stack/ready.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

function options(over: Partial<ReadyOptions>) {
  const lines: string[] = [];
  return {
    lines,
    name: 'Kafka',
    probe: async () => false,
    ended: () => undefined,
    limitMs: 30_000,
    clock: skippingClock(),
    signal: new AbortController().signal,
    onProgress: (line: string) => void lines.push(line),
    ...over,
  };
}

test('readiness is reported with the time that it took', async () => {
  let probes = 0;
  const waiting = options({ probe: async () => ++probes > 24 });
  await untilReady(waiting);
  assert.deepEqual(waiting.lines, ['Kafka is ready after 2.4 s.']);
});

test('a program that ends is not waited for', async () => {
  await assert.rejects(untilReady(options({ ended: () => 'it ended with code 1 (log: /tmp/kafka.log)' })), {
    code: 'STACK_UNAVAILABLE',
    message: 'Kafka did not start: it ended with code 1 (log: /tmp/kafka.log)',
  });
});

test('the wait has an end', async () => {
  await assert.rejects(untilReady(options({})), {
    code: 'STACK_UNAVAILABLE',
    message: 'Kafka was not ready after 30 s',
  });
});

test('an interruption ends the wait with its reason', async () => {
  const interrupted = new AbortController();
  const reason = new Error('Ctrl-C');
  const probe = async () => {
    interrupted.abort(reason);
    return false;
  };
  await assert.rejects(untilReady(options({ probe, signal: interrupted.signal })), reason);
});
