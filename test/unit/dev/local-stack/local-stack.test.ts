import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StackWay, startLocalStack } from '../../../../src/dev/local-stack/local-stack.ts';
import type { LocalStack } from '../../../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../../../src/errors.ts';
import { systemClock } from '../../../../src/support/clock.ts';

function started(how: LocalStack['how']): LocalStack {
  return { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:2', how, stop: async () => undefined };
}

function ways(docker: () => Promise<LocalStack>, java: () => Promise<LocalStack>) {
  const tried: string[] = [];
  const way = (name: string, start: () => Promise<LocalStack>): StackWay => ({
    name,
    start: () => {
      tried.push(name);
      return start();
    },
  });
  return { tried, list: [way('Docker', docker), way('Java', java)] };
}

const closed = (reason: string) => async (): Promise<LocalStack> => {
  throw new ConnectorError('STACK_UNAVAILABLE', reason);
};

function context(signal = new AbortController().signal) {
  const lines: string[] = [];
  return { env: {}, clock: systemClock, onProgress: (line: string) => void lines.push(line), signal, lines };
}

test('Docker is preferred to Java', async () => {
  const { tried, list } = ways(
    async () => started('docker'),
    async () => started('java'),
  );
  const options = context();
  assert.equal((await startLocalStack(options, list)).how, 'docker');
  assert.deepEqual([tried, options.lines], [['Docker'], []]);
});

test('a closed way is reported in one line, and the next is gone', async () => {
  const { tried, list } = ways(closed('no daemon responds'), async () => started('java'));
  const options = context();
  assert.equal((await startLocalStack(options, list)).how, 'java');
  assert.deepEqual([tried, options.lines], [['Docker', 'Java'], ['Docker: no daemon responds.']]);
});

test('when no way is open, the error says why of each and names all three', async () => {
  const { list } = ways(closed('no daemon responds'), closed('Java 17 or later is needed, and none was found'));
  await assert.rejects(startLocalStack(context(), list), {
    code: 'STACK_UNAVAILABLE',
    action: 'exit',
    message:
      'No Kafka and no schema registry could be started. Docker: no daemon responds. ' +
      'Java: Java 17 or later is needed, and none was found. ' +
      'Do one of these: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to running ones; start Docker; ' +
      'or install Java 17 or later and Maven.',
  });
});
