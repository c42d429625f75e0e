import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { runProcessorAsWanted } from '../../../src/run/price-processor.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { PRICE_PROCESSOR } from '../../../src/worker/target.ts';
import { operator } from '../../support/connectors/operator.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

function start({ waitsForOperator = true, catchUpFailures = 0 } = {}) {
  const asking = operator([PRICE_PROCESSOR]);
  const happened: string[] = [];
  const stop = new AbortController();
  let fail: (error: Error) => void = () => {};
  let failuresLeft = catchUpFailures;
  const ended = runProcessorAsWanted({
    async run(signal) {
      happened.push('runs');
      const failed = Promise.withResolvers<never>();
      fail = failed.reject;
      return await untilAborted(failed.promise, signal).finally(() => happened.push('ended'));
    },
    states: {
      targets: asking.targets,
      walks: { newest: () => assert.fail('no walks here') },
      follow: () => assert.fail('somebody else follows'),
      async catchUp() {
        if (failuresLeft-- > 0) throw new ConnectorError('KAFKA_UNREACHABLE', 'no');
        happened.push('knows');
      },
    },
    waitsForOperator,
    events: {
      processorAttemptFailed: () => happened.push('tries again'),
      processorFailed: () => happened.push('failed'),
      processorRests: ({ wanted }) => happened.push(`is ${wanted}`),
    },
    clock: skippingClock(),
    random: () => 1,
    signal: stop.signal,
  });
  ended.catch(() => {});
  return { asking, happened, ended, stop, fail: (error: Error) => fail(error) };
}

async function quiet(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}

for (const state of ['paused', 'stopped'] as const) {
  test(`the processor leaves when it is ${state}, and begins again when it is to run`, async () => {
    const { asking, happened, stop, ended } = start();
    await quiet();
    asking.wants(PRICE_PROCESSOR, { state });
    await quiet();
    assert.deepEqual(happened, ['knows', 'runs', 'ended', `is ${state}`]);
    asking.wants(PRICE_PROCESSOR, { state: 'running' });
    await quiet();
    assert.deepEqual(happened.slice(4), ['runs']);
    stop.abort(new Error('enough'));
    await assert.rejects(ended, { message: 'enough' });
  });
}

test('after a failure it waits for an operator where one can ask for a restart', async () => {
  const { asking, happened, fail, stop } = start();
  await quiet();
  fail(new TypeError('a bug'));
  await quiet();
  assert.deepEqual(happened, ['knows', 'runs', 'ended', 'failed']);
  asking.restarts(PRICE_PROCESSOR, { onlyFailed: true });
  await quiet();
  assert.deepEqual(happened.slice(4), ['runs']);
  asking.restarts(PRICE_PROCESSOR, { onlyFailed: true });
  await quiet();
  assert.deepEqual(happened.slice(4), ['runs'], 'what runs goes on');
  asking.restarts(PRICE_PROCESSOR);
  await quiet();
  assert.deepEqual(happened.slice(5), ['ended', 'runs']);
  stop.abort();
});

test('after a failure it ends where nobody can', async () => {
  const { fail, ended } = start({ waitsForOperator: false });
  await quiet();
  fail(new TypeError('a bug'));
  assert.deepEqual(await ended, [PRICE_PROCESSOR]);
});
