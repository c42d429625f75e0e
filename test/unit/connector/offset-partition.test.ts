import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOffsetPartition, type Source } from '../../../src/connector/offset-partition.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { MemoryBroker } from '../../../src/kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryStep } from '../../../src/kafka/memory-cluster.ts';
import { offsetKey, offsetRecord, readOffsets } from '../../../src/kafka/offset-store.ts';
import { skippingClock } from '../../support/manual-clock.ts';
import { operator } from '../../support/operator.ts';
import { recordedEvents } from '../../support/recorded-events.ts';

const OFFSETS = 'p.offsets';
const ROWS = 'p.rows';
const ANSWERS = 20;

/** A source that writes the numbers from 1 to ANSWERS, one a transaction, and then ends as a failed one. */
function countingSource(name: string, polled: string[] = []): Source {
  const key = offsetKey(name, 'counting');
  return {
    name,
    offsetKey: key,
    startTask(offset) {
      let position = Number(offset?.position ?? 0);
      return {
        async poll() {
          if (position === ANSWERS) throw new ConnectorError('WALK_CURSOR_REPEATED', 'counted to the end');
          const next = position + 1;
          polled.push(`${name} ${next}`);
          return {
            records: [
              { topic: ROWS, partition: 0, key: Buffer.from(name), value: Buffer.from(String(next)), headers: {} },
              { ...offsetRecord({ topic: OFFSETS, key, offset: { position: next } }), partition: 0 },
            ],
            waitMs: 0,
            committed: () => {
              position = next;
            },
          };
        },
      };
    },
  };
}

function broker(): MemoryBroker {
  const memory = new MemoryBroker(() => 0);
  for (const name of [OFFSETS, ROWS]) memory.createTopic({ name, partitions: 1, replicationFactor: 1, settings: {} });
  return memory;
}

function run(
  memory: MemoryBroker,
  sources: readonly Source[],
  onStep?: (step: MemoryStep) => void,
  asking: ReturnType<typeof operator> | null = null,
) {
  const cluster = createMemoryCluster({ broker: memory, ...(onStep && { onStep }) });
  const { events, seen } = recordedEvents();
  const stop = new AbortController();
  const ended = runOffsetPartition({
    partition: 0,
    transactionalId: 'p-sources-0',
    sources,
    writer: cluster.transactionalWriter('p-sources-0'),
    readOffsets: (signal) => readOffsets(cluster.logReader, OFFSETS, 0, signal),
    targets: (asking ?? operator(sources.map(({ name }) => name))).targets,
    waitsForOperator: asking !== null,
    clock: skippingClock(),
    random: () => 0.5,
    events,
    signal: stop.signal,
  });
  return { ended, seen, stop };
}

const written = (memory: MemoryBroker, name: string) =>
  memory
    .readCommitted(ROWS, 0)
    .filter(({ key }) => String(key) === name)
    .map(({ value }) => Number(String(value)));
const counted = Array.from({ length: ANSWERS }, (_, index) => index + 1);

test('two sources on one partition take turns on one writer, and each is written once and in order', async () => {
  const memory = broker();
  const { ended } = run(memory, [countingSource('a'), countingSource('b')]);
  assert.deepEqual(await ended, ['a', 'b']);
  assert.deepEqual(written(memory, 'a'), counted);
  assert.deepEqual(written(memory, 'b'), counted);
});

for (const failing of ['sending', 'sent', 'committing', 'committed'] as const) {
  test(`when the writer fails at "${failing}", every source goes on from what is truly committed`, async () => {
    const memory = broker();
    let times = 0;
    const { ended, seen } = run(memory, [countingSource('a'), countingSource('b')], (step) => {
      if (step === failing) times += 1;
      if (step === failing && times % 4 === 0) throw new Error('the connection is gone');
    });
    await ended;
    assert.deepEqual(written(memory, 'a'), counted);
    assert.deepEqual(written(memory, 'b'), counted);
    assert.ok(seen.filter(({ name }) => name === 'writerLost').length > 0);
  });
}

test('what was fetched before the writer failed is dropped and asked for again', async () => {
  const memory = broker();
  const polled: string[] = [];
  let failed = false;
  const { ended } = run(memory, [countingSource('a', polled)], (step) => {
    if (step !== 'committing' || failed) return;
    failed = true;
    throw new Error('the connection is gone');
  });
  await ended;
  assert.deepEqual(polled.slice(0, 2), ['a 1', 'a 1']);
});

test('a source that fails leaves the others running', async () => {
  const memory = broker();
  const broken: Source = {
    ...countingSource('broken'),
    startTask: () => {
      throw new ConnectorError('FILTER_CHANGED', 'another filter');
    },
  };
  const { ended, seen } = run(memory, [broken, countingSource('a')]);
  await ended;
  assert.deepEqual(written(memory, 'a'), counted);
  const failures = seen.filter(({ name }) => name === 'sourceFailed').map(({ fields }) => fields.err.code);
  assert.deepEqual(failures, ['FILTER_CHANGED', 'WALK_CURSOR_REPEATED']);
});

test('an offset that cannot be read stops its source alone, and one of no source stops nobody', async () => {
  const memory = broker();
  const writer = createMemoryCluster({ broker: memory }).transactionalWriter('p-sources-0');
  const { signal } = new AbortController();
  await writer.open(async () => {}, signal);
  for (const name of ['broken', 'of a source that is not there']) {
    const key = Buffer.from(offsetKey(name, 'counting'));
    await writer.commit([{ topic: OFFSETS, partition: 0, key, value: Buffer.from('{"position":'), headers: {} }]);
  }
  await writer.close();
  const { ended, seen } = run(memory, [countingSource('broken'), countingSource('a')]);
  assert.deepEqual(await ended, ['broken', 'a']);
  assert.deepEqual([written(memory, 'broken'), written(memory, 'a')], [[], counted]);
  const failures = seen.filter(({ name }) => name === 'sourceFailed').map(({ fields }) => fields.err.code);
  assert.deepEqual(failures, ['OFFSET_UNREADABLE', 'WALK_CURSOR_REPEATED']);
});

test('when something else uses our ids, the sources of the partition stop with that message', async () => {
  let opened = 0;
  const { ended, seen } = run(broker(), [countingSource('a'), countingSource('b')], (step) => {
    if (step === 'sent') throw new Error('an old epoch');
    if (step === 'fencing' && ++opened > 3) throw new ConnectorError('WRITER_IDS_SHARED', 'give it its own prefix');
  });
  assert.deepEqual(await ended, ['a', 'b']);
  const failures = seen.flatMap(({ name, fields }) =>
    name === 'sourceFailed' ? [`${fields.source}: ${fields.err.message}`] : [],
  );
  assert.deepEqual(failures, ['a: give it its own prefix', 'b: give it its own prefix']);
});

test('an error that is nobody’s fault but ours ends the partition loudly', async () => {
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
  const { ended, stop } = run(memory, [countingSource('a')], () => {
    steps += 1;
    if (steps === 12) stop.abort(new Error('enough'));
  });
  await assert.rejects(ended, { message: 'enough' });
  const rows = written(memory, 'a');
  assert.ok(rows.length > 0 && rows.length < ANSWERS);
  assert.deepEqual(rows, counted.slice(0, rows.length));
  const offsets = memory.readCommitted(OFFSETS, 0);
  assert.equal(String(offsets.at(-1)?.value), `{"position":${rows.length}}`);
});

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
    startTask(offset) {
      if (Number(offset?.position ?? 0) < 7 || repaired) return counting.startTask(offset);
      throw new ConnectorError('FILTER_CHANGED', 'another filter');
    },
  };
  const { seen, stop, ended } = run(
    memory,
    [source, countingSource('b')],
    (step) => {
      if (step === 'committed' && written(memory, 'a').length === 7 && !repaired)
        throw new Error('the connection is gone');
    },
    asking,
  );
  const failures = () => seen.filter(({ name }) => name === 'sourceFailed').map(({ fields }) => fields.source);
  await eventually(() => failures().length === 2);
  assert.deepEqual(failures(), ['a', 'b']);
  await quiet();
  asking.restarts('a');
  await eventually(() => failures().length === 3);
  assert.deepEqual(written(memory, 'a'), counted.slice(0, 7));
  repaired = true;
  asking.restarts('a', { onlyFailed: true });
  await eventually(() => failures().length === 4);
  assert.deepEqual(written(memory, 'a'), counted);
  assert.deepEqual(written(memory, 'b'), counted);
  stop.abort(new Error('enough'));
  await assert.rejects(ended, { message: 'enough' });
});

test('a source that is stopped lets go of its task, and starts from what is committed by then', async () => {
  const memory = broker();
  const asking = operator(['a', 'b']);
  const { seen, stop, ended } = run(
    memory,
    [countingSource('a'), countingSource('b')],
    (step) => {
      if (step === 'committed' && written(memory, 'a').length === 5) asking.wants('a', { state: 'stopped' });
    },
    asking,
  );
  await eventually(() => seen.some(({ name, fields }) => name === 'sourceFailed' && fields.source === 'b'));
  await quiet();
  assert.deepEqual(written(memory, 'a'), [1, 2, 3, 4, 5]);
  assert.deepEqual(written(memory, 'b'), counted);
  // Somebody alters the offset meanwhile.
  const writer = createMemoryCluster({ broker: memory }).transactionalWriter('p-sources-0');
  await writer.open(async () => {}, stop.signal);
  const key = offsetKey('a', 'counting');
  await writer.commit([{ ...offsetRecord({ topic: OFFSETS, key, offset: { position: 15 } }), partition: 0 }]);
  await writer.close();
  asking.wants('a', { state: 'running' });
  await eventually(() => seen.filter(({ name }) => name === 'sourceFailed').length === 2);
  assert.deepEqual(written(memory, 'a'), [1, 2, 3, 4, 5, 16, 17, 18, 19, 20]);
  stop.abort(new Error('enough'));
  await assert.rejects(ended, { message: 'enough' });
});

test('a source that is stopped from the beginning never starts, and the others do', async () => {
  const memory = broker();
  const asking = operator(['a', 'b']);
  asking.wants('a', { state: 'stopped' });
  const { seen, stop, ended } = run(memory, [countingSource('a'), countingSource('b')], undefined, asking);
  await eventually(() => seen.some(({ name }) => name === 'sourceFailed'));
  await quiet();
  assert.deepEqual(written(memory, 'a'), []);
  stop.abort(new Error('enough'));
  await assert.rejects(ended, { message: 'enough' });
});

for (const onlyFailed of [false, true]) {
  const title = onlyFailed ? 'goes on where only failed ones restart' : 'is restarted from its committed offset, once';
  test(`a source that runs ${title}`, async () => {
    const [memory, asking] = [broker(), operator(['a'])];
    let isAsked = false;
    const { seen, stop, ended } = run(
      memory,
      [countingSource('a')],
      (step) => {
        if (step !== 'committed' || isAsked || written(memory, 'a').length < 5) return;
        isAsked = true;
        asking.restarts('a', { onlyFailed });
      },
      asking,
    );
    await eventually(() => seen.some(({ name }) => name === 'sourceFailed'));
    assert.deepEqual(written(memory, 'a'), counted);
    assert.equal(seen.filter(({ name }) => name === 'writerOpened').length, onlyFailed ? 1 : 2);
    assert.equal(seen.filter(({ name }) => name === 'writerLost').length, 0);
    stop.abort(new Error('enough'));
    await assert.rejects(ended, { message: 'enough' });
  });
}

test('a source that is paused from the beginning asks for nothing until it runs, with the same task', async () => {
  const memory = broker();
  const asking = operator(['a']);
  asking.wants('a', { state: 'paused' });
  const polled: string[] = [];
  const { seen, stop, ended } = run(memory, [countingSource('a', polled)], undefined, asking);
  await eventually(() => seen.some(({ name }) => name === 'sourcePaused'));
  await quiet();
  assert.deepEqual(polled, []);
  asking.wants('a', { state: 'running' });
  await eventually(() => seen.some(({ name }) => name === 'sourceFailed'));
  assert.deepEqual(written(memory, 'a'), counted);
  assert.equal(seen.filter(({ name }) => name === 'writerOpened').length, 1);
  stop.abort(new Error('enough'));
  await assert.rejects(ended, { message: 'enough' });
});
