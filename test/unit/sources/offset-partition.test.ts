import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetRecord } from '../../../src/kafka/offset-store.ts';
import type { TransactionalWriter } from '../../../src/kafka/transactional-writer.ts';
import type { Source } from '../../../src/sources/offset-partition.ts';
import { type Clock, systemClock } from '../../../src/support/clock.ts';
import { operator } from '../../support/connectors/operator.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { ANSWERS, broker, counted, countingSource, OFFSETS, run, written } from './counting-sources.ts';

const codesOf = (failures: readonly [string, ConnectorError][]) => failures.map(([, { code }]) => code);

for (const failing of ['sending', 'sent', 'committing', 'committed'] as const) {
  test(`when the writer fails at "${failing}", every source goes on from what is truly committed`, async () => {
    const memory = broker();
    let times = 0;
    const { ended, count } = run(memory, [countingSource('a'), countingSource('b')], {
      onStep(step) {
        if (step === failing) times += 1;
        if (step === failing && times % 4 === 0) throw new Error('the connection is gone');
      },
    });
    await ended;
    assert.deepEqual(written(memory, 'a'), counted);
    assert.deepEqual(written(memory, 'b'), counted);
    assert.ok(count('writerLost') > 0);
  });
}

test('a source that fails leaves the others running', async () => {
  const memory = broker();
  const broken: Source = {
    ...countingSource('broken'),
    startTask: () => {
      throw new ConnectorError('FILTER_CHANGED', 'another filter');
    },
  };
  const { ended, failures } = run(memory, [broken, countingSource('a')]);
  await ended;
  assert.deepEqual(written(memory, 'a'), counted);
  assert.deepEqual(codesOf(failures()), ['FILTER_CHANGED', 'WALK_CURSOR_REPEATED']);
});

test('an offset that cannot be read stops its source alone, and one of no source stops nobody', async () => {
  const memory = broker();
  const writer = createMemoryCluster({ broker: memory }).transactionalWriter('p-sources-0');
  const { signal } = new AbortController();
  await writer.open(async () => {}, signal);
  for (const name of ['broken', 'of a source that is not there']) {
    const key = Buffer.from(offsetKey(name, 'counting'));
    await writer.commit({
      records: [{ topic: OFFSETS, partition: 0, key, value: Buffer.from('{"position":'), headers: {} }],
    });
  }
  await writer.close();
  const { ended, failures } = run(memory, [countingSource('broken'), countingSource('a')]);
  assert.deepEqual(await ended, ['broken', 'a']);
  assert.deepEqual([written(memory, 'broken'), written(memory, 'a')], [[], counted]);
  assert.deepEqual(codesOf(failures()), ['OFFSET_UNREADABLE', 'WALK_CURSOR_REPEATED']);
});

test('when something else uses our ids, the sources of the partition stop with that message', async () => {
  let opened = 0;
  const { ended, failures } = run(broker(), [countingSource('a'), countingSource('b')], {
    onStep(step) {
      if (step === 'sent') throw new Error('an old epoch');
      if (step === 'fencing' && ++opened > 3) throw new ConnectorError('WRITER_IDS_SHARED', 'give it its own prefix');
    },
  });
  assert.deepEqual(await ended, ['a', 'b']);
  const said = failures().map(([source, { message }]) => `${source}: ${message}`);
  assert.deepEqual(said, ['a: give it its own prefix', 'b: give it its own prefix']);
});

test('an error that is only our own fault ends the partition loudly', async () => {
  const bug: Source = {
    ...countingSource('bug'),
    startTask: () => {
      throw new TypeError('undefined is not a function');
    },
  };
  await assert.rejects(run(broker(), [bug, countingSource('a')]).ended, TypeError);
});

test('a stop ends the sources with its reason and leaves no transaction open', async () => {
  const memory = broker();
  let steps = 0;
  const { ended, stop } = run(memory, [countingSource('a')], {
    onStep() {
      steps += 1;
      if (steps === 12) stop.abort(new Error('enough'));
    },
  });
  await assert.rejects(ended, { message: 'enough' });
  const rows = written(memory, 'a');
  assert.ok(rows.length > 0 && rows.length < ANSWERS);
  assert.deepEqual(rows, counted.slice(0, rows.length));
  const offsets = memory.readCommitted(OFFSETS, 0);
  assert.equal(String(offsets.at(-1)?.value), `{"position":${rows.length}}`);
});

test('a refusal of its records stops the source alone, and the others go on with another writer', async () => {
  const memory = broker();
  const refused = new ConnectorError('TOPIC_REFUSED', 'no rights', { fields: { topics: ['p.rows'] } });
  const wrap = (writer: TransactionalWriter): TransactionalWriter => ({
    ...writer,
    async commit(transaction) {
      const [row] = transaction.records;
      if (String(row?.key) !== 'a' || String(row?.value) !== '3') return writer.commit(transaction);
      await writer.close();
      throw refused;
    },
  });
  const { ended, failures } = run(memory, [countingSource('a'), countingSource('b')], { wrap });
  assert.deepEqual(await ended, ['a', 'b']);
  assert.deepEqual([written(memory, 'a'), written(memory, 'b')], [[1, 2], counted]);
  assert.deepEqual(failures()[0], ['a', refused]);
  assert.equal(failures().length, 2);
});

test('a source that is held back fails with what its verification says, and all that are left end the partition', async () => {
  const memory = broker();
  const isDown = new ConnectorError('KAFKA_UNREACHABLE', 'no leader', { fields: { topics: ['topic of a'] } });
  const refused = new ConnectorError('WRITER_REFUSED', 'no right on the transactional id of the verification');
  const { ended, failures } = run(memory, [countingSource('a'), countingSource('b')], {
    wrap: (writer, running) => ({
      ...writer,
      async open(read, signal) {
        if (running().some(({ name }) => name === 'a')) throw isDown;
        return writer.open(read, signal);
      },
    }),
    verifyStart: () => Promise.reject(refused),
  });
  assert.deepEqual(await ended, ['a', 'b']);
  assert.deepEqual([written(memory, 'a'), written(memory, 'b')], [[], counted]);
  assert.equal(new Map(failures()).get('a')?.code, 'WRITER_REFUSED');
  assert.equal(failures().length, 2);
});

/** Time passes fifty times as fast: a wait of a second takes 20 ms. */
function hastyClock(): Clock {
  const nowMs = () => performance.now() * 50;
  return { wallMs: nowMs, monotonicMs: nowMs, sleep: (ms, signal) => systemClock.sleep(ms / 50, signal) };
}

test('a source whose commits always fail leaves its neighbour, which needs a second, the time for its own', async (t) => {
  const memory = broker();
  const clock = hastyClock();
  const slow = countingSource('slow');
  const needsASecond: Source = {
    ...slow,
    startTask(...given) {
      const task = slow.startTask(...given);
      return {
        async poll(signal) {
          await clock.sleep(1_000, signal);
          return task.poll(signal);
        },
      };
    },
  };
  const wrap = (writer: TransactionalWriter): TransactionalWriter => ({
    ...writer,
    async commit(transaction) {
      const [row] = transaction.records;
      if (String(row?.key) !== 'bad') return writer.commit(transaction);
      await writer.close();
      throw new ConnectorError('TRANSACTION_FAILED', 'it took too long');
    },
  });
  const { stop, stopped, count } = run(memory, [countingSource('bad'), needsASecond], { wrap, clock });
  t.after(() => stop.abort(new Error('the test has ended')));
  const ofNeighbour = () => written(memory, 'slow');
  await eventually('the neighbour has written all', ofNeighbour, (numbers) => numbers.length === ANSWERS);
  assert.deepEqual(written(memory, 'slow'), counted);
  const lost = count('writerLost');
  assert.ok(lost < ANSWERS, `the writer was lost ${lost} times meanwhile`);
  await stopped();
});

async function settled(holds: () => boolean): Promise<void> {
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
  await settled(() => failures().length === 2);
  const failed = failures().map(([source]) => source);
  assert.deepEqual(failed, ['a', 'b']);
  await quiet();
  asking.restarts('a');
  await settled(() => failures().length === 3);
  assert.deepEqual(written(memory, 'a'), counted.slice(0, 7));
  repaired = true;
  asking.restarts('a', { onlyFailed: true });
  await settled(() => failures().length === 4);
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
  await settled(() => failures().some(([source]) => source === 'b'));
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
  await settled(() => failures().length === 2);
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
    await settled(() => count('sourceFailed') > 0);
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
  await settled(() => count('sourcePaused') > 0);
  await quiet();
  assert.deepEqual(polled, []);
  asking.wants('a', { state: 'running' });
  await settled(() => count('sourceFailed') > 0);
  assert.deepEqual(written(memory, 'a'), counted);
  assert.equal(count('writerOpened'), 1);
  await stopped();
});
