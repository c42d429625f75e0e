import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { LogReader } from '../../../src/kafka/log-reader.ts';
import type { Freshness } from '../../../src/observe/events.ts';
import type { BulkPrices } from '../../../src/prices/bulk-prices.ts';
import type { RecordedEvent } from '../../support/ledgers/recorded-events.ts';
import { ALL_PRICED, memoryPrices, TOPICS, turns, until } from './memory-prices.ts';

/** Longer than one and a half refresh intervals of these members. */
const AWAY_MS = 6 * 3_600_000;
/** Turns in which a member would open its writer again many times over. */
const MANY_TURNS = 300;

const counted = (seen: readonly RecordedEvent[], wanted: string) => seen.filter(({ name }) => name === wanted).length;

async function pricedBroker(t: TestContext, instruments = 30) {
  const { broker, clock, write, start: join } = await memoryPrices(t);
  await write(...Array.from({ length: instruments }, (_, id) => [String(id), `isin-${id}`] as const));
  const start = ({
    hold,
    ...more
  }: {
    reader?: LogReader;
    prices?: BulkPrices;
    hold?: (writerStep: string) => Promise<void> | undefined;
  } = {}) => {
    let fences = 0;
    const onStep = (step: string, transactionalId: string) => {
      if (step === 'fencing') fences += 1;
      return hold?.(`${transactionalId} ${step}`);
    };
    return { ...join({ onStep, ...more }), fences: () => fences };
  };
  return { broker, clock, start };
}

test('a processor that the group has given up begins no transaction any more', async (t) => {
  const { broker, start } = await pricedBroker(t);
  const steps: string[] = [];
  const given = start({
    hold(writerStep) {
      steps.push(writerStep);
      return undefined;
    },
  });
  await until('it is so', () => counted(given.seen, 'partitionAssigned') === 3);
  const heir = start();
  broker.groups.forgetFirst('prices');
  steps.length = 0;
  await until('it is so', () => counted(heir.seen, 'batchPriced') >= 3);
  await turns(MANY_TURNS);
  assert.deepEqual(steps, []);
});

test('one that is given up in the middle of a transaction does not fence its heir', async (t) => {
  const { broker, start } = await pricedBroker(t);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const given = start({
    hold(writerStep) {
      if (!writerStep.endsWith('sending')) return undefined;
      isHeld = true;
      return held.promise;
    },
  });
  await until('it is so', () => isHeld);
  const heir = start();
  t.after(() => {
    held.resolve();
    return Promise.all([given.stop(), heir.stop()]);
  });
  broker.groups.forgetFirst('prices');
  await until('it is so', () => counted(heir.seen, 'batchPriced') >= 3);
  held.resolve();
  await until('it is so', () => counted(given.seen, 'partitionWriterLost') > 0);
  const fencesBefore = given.fences();
  await turns(MANY_TURNS);
  assert.equal(given.fences(), fencesBefore);
  assert.equal(counted(heir.seen, 'partitionWriterLost'), 0);
  assert.ok(counted(heir.seen, 'batchPriced') > 0);
});

test('nor when what it has lost is another thing than its writer', async (t) => {
  const { broker, start } = await pricedBroker(t);
  const seeds = start();
  const offset = (partition: number) => broker.consumerOffset('prices', { topic: TOPICS.instruments.name, partition });
  await until('it is so', () => [0, 1, 2].every((partition) => offset(partition) !== null));
  await seeds.stop();
  let reads = 0;
  const failing = Promise.withResolvers<void>();
  const given = start({
    reader: {
      async readToEnd() {
        reads += 1;
        await failing.promise;
        throw new ConnectorError('KAFKA_UNREACHABLE', 'The table cannot be read.');
      },
    },
  });
  await until('it is so', () => reads === 3);
  broker.groups.forgetFirst('prices');
  failing.resolve();
  await until('it is so', () => counted(given.seen, 'partitionWriterLost') === 3);
  const fencesBefore = given.fences();
  await turns(MANY_TURNS);
  assert.equal(given.fences(), fencesBefore);
});

test('prices grow old while the writer is away, and are no younger once it is there again', async (t) => {
  const { clock, start } = await pricedBroker(t);
  const held = Promise.withResolvers<void>();
  let isAway = false;
  let isOver = false;
  const member = start({
    hold(writerStep) {
      if (!isAway) return undefined;
      if (writerStep.endsWith('sending')) throw new Error('the broker is away');
      return writerStep.endsWith('fencing') ? held.promise : undefined;
    },
    // No answer comes once the broker was away.
    prices: { ask: (...asked) => (isOver ? new Promise(() => {}) : ALL_PRICED.ask(...asked)) },
  });
  t.after(() => {
    held.resolve();
    return member.stop();
  });
  const fresh = async () => {
    const [started] = member.seen.filter(({ name }) => name === 'processorStarted');
    assert.ok(started);
    await started.fields.refreshed();
    const { instruments, priced, overdue, ageMaxMs }: Freshness = started.fields.freshness();
    return { instruments, priced, overdue, isOld: (ageMaxMs ?? 0) > AWAY_MS };
  };
  await until('it is so', () => counted(member.seen, 'batchPriced') >= 3);
  while ((await fresh()).priced < 30) await turns(1);
  isAway = true;
  await until('it is so', () => counted(member.seen, 'partitionWriterLost') === 3);
  await clock.sleep(AWAY_MS);
  const old = { instruments: 30, priced: 30, overdue: 30, isOld: true };
  assert.deepEqual(await fresh(), old);
  isOver = true;
  isAway = false;
  held.resolve();
  await until('it is so', () => counted(member.seen, 'partitionAssigned') === 6);
  assert.deepEqual(await fresh(), old);
});

test('a partition that comes back waits for the end of its last time here', async (t) => {
  const { start } = await pricedBroker(t);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const first = start({
    hold(writerStep) {
      if (writerStep !== 'prices-1 committing' || isHeld) return undefined;
      isHeld = true;
      return held.promise;
    },
  });
  t.after(() => {
    held.resolve();
    return first.stop();
  });
  await until('it is so', () => isHeld);
  const second = start();
  await until('it is so', () => counted(second.seen, 'partitionAssigned') === 1);
  await second.stop();
  await turns(MANY_TURNS);
  const ofPartition = () =>
    first.seen.flatMap(({ name, fields }) =>
      fields.partition === 1 && ['partitionAssigned', 'partitionLost'].includes(name) ? [name] : [],
    );
  assert.deepEqual(ofPartition(), ['partitionAssigned']);
  held.resolve();
  await until('it is so', () => ofPartition().length === 3);
  assert.deepEqual(ofPartition(), ['partitionAssigned', 'partitionLost', 'partitionAssigned']);
});

test('when something else uses our ids, the processor ends with that message', async (t) => {
  const { start } = await pricedBroker(t);
  let opened = 0;
  const given = start({
    hold(writerStep) {
      if (writerStep.startsWith('prices-1') && writerStep.endsWith('sent')) throw new Error('an old epoch');
      if (writerStep === 'prices-1 fencing' && ++opened > 3)
        throw new ConnectorError('WRITER_IDS_SHARED', 'own prefix');
      return undefined;
    },
  });
  await assert.rejects(given.ended, { code: 'WRITER_IDS_SHARED' });
  const lost = given.seen.flatMap(({ name, fields }) => (name === 'partitionLost' ? [fields.why] : []));
  assert.equal(lost[0], 'own prefix');
});

test('what Kafka refuses of the prices for good ends the processor with that message, and nothing of it is committed', async (t) => {
  const { broker, start } = await pricedBroker(t);
  const refused = new ConnectorError('TOPIC_REFUSED', 'no rights on the topic', { fields: { topics: ['prices'] } });
  const given = start({
    hold(writerStep) {
      if (writerStep === 'prices-1 fencing') throw refused;
      return undefined;
    },
  });
  await assert.rejects(given.ended, refused);
  assert.equal(broker.consumerOffset('prices', { topic: TOPICS.instruments.name, partition: 1 }), null);
  const lost = given.seen.flatMap(({ name, fields }) => (name === 'partitionLost' ? [fields.why] : []));
  assert.equal(lost[0], 'no rights on the topic');
  assert.equal(counted(given.seen, 'partitionWriterLost'), 0);
});

test('a processor that is stopped finishes its transactions before it leaves the group', async (t) => {
  // More than may be read ahead: batches wait to be taken when it is stopped.
  const { broker, start } = await pricedBroker(t, 150);
  const held = Promise.withResolvers<void>();
  let sent = 0;
  const stopping = start({
    hold(writerStep) {
      if (!writerStep.endsWith('sent')) return undefined;
      sent += 1;
      return held.promise;
    },
  });
  await until('it is so', () => sent === 3);
  const stopped = stopping.stop();
  await turns(MANY_TURNS);
  held.resolve();
  await stopped;
  assert.equal(counted(stopping.seen, 'batchPriced'), 3);
  assert.equal(broker.hasOpenTransaction(), false);
});
