import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOffsetPartition, type Source } from '../../../src/connector/offset-partition.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { MemoryBroker } from '../../../src/kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryStep } from '../../../src/kafka/memory-cluster.ts';
import { offsetKey, offsetRecord, readOffsets } from '../../../src/kafka/offset-store.ts';
import { skippingClock } from '../../support/manual-clock.ts';
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
        failed() {},
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

function run(memory: MemoryBroker, sources: readonly Source[], onStep?: (step: MemoryStep) => void) {
  const cluster = createMemoryCluster({ broker: memory, ...(onStep && { onStep }) });
  const { events, seen } = recordedEvents();
  const stop = new AbortController();
  const ended = runOffsetPartition({
    partition: 0,
    transactionalId: 'p-sources-0',
    sources,
    writer: cluster.transactionalWriter('p-sources-0'),
    readOffsets: (signal) => readOffsets(cluster.logReader, OFFSETS, 0, signal),
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
