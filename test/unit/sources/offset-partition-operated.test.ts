import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetRecord } from '../../../src/kafka/offset-store.ts';
import type { Source } from '../../../src/sources/offset-partition.ts';
import { operator } from '../../support/connectors/operator.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { broker, counted, countingSource, OFFSETS, run, written } from './counting-sources.ts';

async function eventually(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    assert.ok(turns < 10_000, 'it did not come to that');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Long enough for anything that would still happen in memory. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
}

test('a source that failed goes on from its committed offset when it is asked to restart', async () => {
  const memory = broker();
  const asking = operator(['a', 'b']);
  let repaired = false;
  const counting = countingSource('a');
  const source: Source = {
    ...counting,
    startTask(offset, topicIds) {
      if (Number(offset?.position ?? 0) < 7 || repaired) return counting.startTask(offset, topicIds);
      throw new ConnectorError('FILTER_CHANGED', 'another filter');
    },
  };
  const { failures, stopped } = run(memory, [source, countingSource('b')], {
    onStep(step) {
      if (step !== 'committed' || written(memory, 'a').length !== 7 || repaired) return;
      throw new Error('the connection is gone');
    },
    asking,
  });
  await eventually(() => failures().length === 2);
  assert.deepEqual(
    failures().map(([source]) => source),
    ['a', 'b'],
  );
  await quiet();
  asking.restarts('a');
  await eventually(() => failures().length === 3);
  assert.deepEqual(written(memory, 'a'), counted.slice(0, 7));
  repaired = true;
  asking.restarts('a', { onlyFailed: true });
  await eventually(() => failures().length === 4);
  assert.deepEqual(written(memory, 'a'), counted);
  assert.deepEqual(written(memory, 'b'), counted);
  await stopped();
});

test('a source that is stopped lets go of its task, and starts from what is committed by then', async () => {
  const memory = broker();
  const asking = operator(['a', 'b']);
  const { failures, stop, stopped } = run(memory, [countingSource('a'), countingSource('b')], {
    onStep(step) {
      if (step === 'committed' && written(memory, 'a').length === 5) asking.wants('a', { state: 'stopped' });
    },
    asking,
  });
  await eventually(() => failures().some(([source]) => source === 'b'));
  await quiet();
  assert.deepEqual(written(memory, 'a'), [1, 2, 3, 4, 5]);
  assert.deepEqual(written(memory, 'b'), counted);
  // Somebody alters the offset meanwhile.
  const writer = createMemoryCluster({ broker: memory }).transactionalWriter('p-sources-0');
  await writer.open(async () => {}, stop.signal);
  const key = offsetKey('a', 'counting');
  await writer.commit({
    records: [{ ...offsetRecord({ topic: OFFSETS, key, offset: { position: 15 } }), partition: 0 }],
  });
  await writer.close();
  asking.wants('a', { state: 'running' });
  await eventually(() => failures().length === 2);
  assert.deepEqual(written(memory, 'a'), [1, 2, 3, 4, 5, 16, 17, 18, 19, 20]);
  await stopped();
});

for (const onlyFailed of [false, true]) {
  const title = onlyFailed ? 'goes on where only failed ones restart' : 'is restarted from its committed offset, once';
  test(`a source that runs ${title}`, async () => {
    const [memory, asking] = [broker(), operator(['a'])];
    let isAsked = false;
    const { count, stopped } = run(memory, [countingSource('a')], {
      onStep(step) {
        if (step !== 'committed' || isAsked || written(memory, 'a').length < 5) return;
        isAsked = true;
        asking.restarts('a', { onlyFailed });
      },
      asking,
    });
    await eventually(() => count('sourceFailed') > 0);
    assert.deepEqual(written(memory, 'a'), counted);
    assert.deepEqual([count('writerOpened'), count('writerLost')], [onlyFailed ? 1 : 2, 0]);
    await stopped();
  });
}

test('a source that is paused from the beginning asks for nothing until it runs, with the same task', async () => {
  const memory = broker();
  const asking = operator(['a']);
  asking.wants('a', { state: 'paused' });
  const polled: string[] = [];
  const { count, stopped } = run(memory, [countingSource('a', polled)], { asking });
  await eventually(() => count('sourcePaused') > 0);
  await quiet();
  assert.deepEqual(polled, []);
  asking.wants('a', { state: 'running' });
  await eventually(() => count('sourceFailed') > 0);
  assert.deepEqual(written(memory, 'a'), counted);
  assert.equal(count('writerOpened'), 1);
  await stopped();
});
