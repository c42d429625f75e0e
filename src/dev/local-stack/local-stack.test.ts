import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../errors.ts';
import { systemClock } from '../../support/clock.ts';
import { type StackWay, startLocalStack } from './local-stack.ts';
import type { LocalStack } from './stack-context.ts';

const way = (name: string, start: () => Promise<LocalStack>): StackWay => ({ name, start });
const closed = (name: string, reason: string) =>
  way(name, async () => {
    throw new ConnectorError('STACK_UNAVAILABLE', reason);
  });
const open = (how: 'docker' | 'java') =>
  way(how, async () => ({ brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:2', how, stop: async () => {} }));

function context() {
  const lines: string[] = [];
  const { signal } = new AbortController();
  return { env: {}, clock: systemClock, onProgress: (line: string) => void lines.push(line), signal, lines };
}

test('the first way that works starts the stack; each way that fails is reported in one line', async () => {
  const options = context();
  assert.equal((await startLocalStack(options, [open('docker'), open('java')])).how, 'docker');
  assert.deepEqual(options.lines, []);
  assert.equal((await startLocalStack(options, [closed('Docker', 'no daemon responds'), open('java')])).how, 'java');
  assert.deepEqual(options.lines, ['Docker: no daemon responds.']);
});

test('when no way works, the error has the reason of each failure and names all three ways', async () => {
  const list = [
    closed('Docker', 'no daemon responds'),
    closed('Java', 'Java 17 or later is needed, and none was found'),
  ];
  await assert.rejects(startLocalStack(context(), list), {
    code: 'STACK_UNAVAILABLE',
    action: 'exit',
    message:
      'No Kafka and no schema registry could be started. Docker: no daemon responds. ' +
      'Java: Java 17 or later is needed, and none was found. ' +
      'Do one of these: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to running servers; start Docker; ' +
      'or install Java 17 or later and Maven.',
  });
});
