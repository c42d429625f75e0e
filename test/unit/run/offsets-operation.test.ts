import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition, offsetRecord } from '../../../src/kafka/offset-store.ts';
import type { WriterOptions } from '../../../src/kafka/transactional-writer.ts';
import { atInstallation, type Installation } from '../../../src/run/installation.ts';
import { listOffsets, resetOffset } from '../../../src/run/offsets-operation.ts';
import { requestState } from '../../../src/run/state-operation.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { memoryInstallation } from '../../support/memory-kafka/memory-installation.ts';

const SOURCE = { name: 'instruments', type: 'instruments' } as const;
const KEY = offsetKey(SOURCE.name, SOURCE.type);
const PARTITION = offsetPartition(KEY);
const TOPIC = 'p.offsets';
const OPERATOR_KEY = '["",{"operator":true}]';

async function installation(options = {}) {
  const { settings, broker, clock, signal } = await memoryInstallation(options);
  // Each command connects again, as a process of its own.
  const at = <T>(work: (at: Installation) => Promise<T>): Promise<T> => {
    const overrides = { kafka: createMemoryCluster({ broker }), clock };
    return atInstallation({ settings, signal, needs: ['offsets', 'states'], overrides }, work);
  };
  const connector = createMemoryCluster({ broker }).transactionalWriter(`p-sources-${PARTITION}`);
  await connector.open(async () => {}, signal);
  const value = (key: string, text: string) => {
    return {
      topic: TOPIC,
      partition: offsetPartition(key),
      key: Buffer.from(key),
      value: Buffer.from(text),
      headers: {},
    };
  };
  return { at, broker, connector, value };
}

/** As an operator does it. */
async function resetStopped(place: Installation) {
  await requestState(place, SOURCE.name, 'stopped');
  return resetOffset(place, { source: SOURCE, execute: true });
}

const committed = offsetRecord({ topic: TOPIC, key: KEY, offset: { version: 2, since: '5-0' } });
const listed = {
  source: 'instruments',
  type: 'instruments',
  configured: true,
  partition: PARTITION,
  offset: { version: 2, since: '5-0' },
  problem: null,
};

test('every offset is listed: of configured sources with none too, of others, and of other programs', async () => {
  const { at, connector, value } = await installation();
  assert.deepEqual(await at(listOffsets), [{ ...listed, offset: null }]);
  const former = offsetKey('former', 'events');
  await connector.commit({
    records: [committed, value(former, '{"since":"7-0"}'), value('other', '{"x":1}'), value('zz', 'no')],
  });
  const [first, second, third, fourth] = await at(listOffsets);
  assert.deepEqual(first?.source, 'former');
  assert.deepEqual([first?.type, first?.configured, first?.offset], ['events', false, { since: '7-0' }]);
  assert.deepEqual(second, listed);
  assert.deepEqual([third?.source, third?.type], ['other', null]);
  assert.deepEqual([fourth?.source, fourth?.offset], ['zz', null]);
  assert.match(fourth?.problem ?? '', /cannot be read as a source offset/);
});

test('a reset that is not executed writes nothing and fences nobody', async () => {
  const { at, connector } = await installation();
  await connector.commit({ records: [committed] });
  const outcome = await at((place) => resetOffset(place, { source: SOURCE, execute: false }));
  assert.deepEqual(outcome, { before: listed, besides: [], isStopped: false, done: false });
  await connector.commit({ records: [committed] });
});

test('the offset of a source that is not stopped is not changed, and nobody fenced', async () => {
  const { at, connector } = await installation();
  await connector.commit({ records: [committed] });
  for (const state of [null, 'paused', 'running'] as const) {
    const reset = at(async (place) => {
      if (state !== null) await requestState(place, SOURCE.name, state);
      return resetOffset(place, { source: SOURCE, execute: true });
    });
    await assert.rejects(reset, { code: 'SOURCE_NOT_STOPPED', fields: { source: 'instruments' } });
  }
  await connector.commit({ records: [committed] });
});

test('a stop that was just asked for is known to a change, although readers do not see it yet', async () => {
  const { at, connector } = await installation();
  await connector.commit({ records: [committed] });
  const outcome = await at(async (place) => {
    const { kafka } = place;
    await requestState(place, SOURCE.name, 'stopped');
    let isSeen = false;
    const hiding: KafkaCluster = {
      ...kafka,
      logReader: {
        readToEnd: async (request) => {
          if (isSeen || request.topic !== 'p.states') await kafka.logReader.readToEnd(request);
        },
      },
      // The fence ends what was still being made visible.
      transactionalWriter(id, options) {
        if (id === 'p-admin') isSeen = true;
        return kafka.transactionalWriter(id, options);
      },
    };
    return resetOffset({ ...place, kafka: hiding }, { source: SOURCE, execute: true });
  });
  assert.deepEqual([outcome.done, outcome.isStopped], [true, true]);
});

test('a reset deletes the offset, and the connector that wrote it is fenced', async () => {
  const { at, broker, connector } = await installation();
  await connector.commit({ records: [committed] });
  const outcome = await at((place) => resetStopped(place));
  assert.deepEqual([outcome.done, outcome.before], [true, listed]);
  assert.deepEqual(
    broker.readCommitted(TOPIC, PARTITION).map(({ key, value }) => [String(key), value === null]),
    [
      [KEY, false],
      [OPERATOR_KEY, true],
      [KEY, true],
    ],
  );
  await assert.rejects(connector.commit({ records: [committed] }), { code: 'WRITER_FENCED' });
});

test('where nothing is committed, a reset changes nothing, and says that it was an operator who took the writer', async () => {
  const { at, broker } = await installation();
  const outcome = await at((place) => resetStopped(place));
  assert.equal(outcome.done, false);
  const keys = broker.readCommitted(TOPIC, PARTITION).map(({ key }) => String(key));
  assert.deepEqual(keys, [OPERATOR_KEY]);
});

test('topics are never created by a command: that they are missing is reported with what is probably wrong', async () => {
  const { at, broker } = await installation({ withTopics: false });
  await assert.rejects(at(listOffsets), {
    code: 'TOPIC_MISSING',
    message: /no topic p\.offsets or p\.states\. .*TOPIC_PREFIX/,
  });
  assert.equal(broker.topic(TOPIC), undefined);
});

test('a change aborts what hangs on the partition that it reads, and no topic, which might be gone', async () => {
  const { at, connector } = await installation();
  await connector.commit({ records: [committed] });
  let abortHanging: WriterOptions['abortHanging'];
  await at((place) => {
    const transactionalWriter: KafkaCluster['transactionalWriter'] = (id, options) => {
      if (id === `p-sources-${PARTITION}`) abortHanging = options?.abortHanging;
      return place.kafka.transactionalWriter(id, options);
    };
    return resetStopped({ ...place, kafka: { ...place.kafka, transactionalWriter } });
  });
  assert.deepEqual(abortHanging?.(), [{ topic: TOPIC, partition: PARTITION }]);
});
