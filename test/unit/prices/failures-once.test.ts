import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedRecord } from '../../../src/kafka/record.ts';
import type { BulkPrices } from '../../../src/prices/bulk-prices.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { memberOf, TOPICS } from './memory-prices.ts';

const IDS = ['1', '2', '3', '4', '5'];

/** A provider that knows no product, and says so with this status. */
const answering = (status: number): BulkPrices => ({
  async ask(_kind, questions) {
    const item = Buffer.from('{}');
    const answers = questions.map(() => ({ kind: 'problem' as const, status, title: null, item }));
    return { answers, errorsFlagDiffers: false, drift: 0, roundedNumbers: 0 };
  },
});

test('an instrument without a price is one dead letter for each problem, over restarts too', async () => {
  const clock = skippingClock();
  const broker = new MemoryBroker(clock.wallMs);
  for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
  const source = createMemoryCluster({ broker }).transactionalWriter('source');
  await source.open(async () => {}, new AbortController().signal);
  await source.commit({ records: IDS.map((id) => keyedRecord(TOPICS.instruments, id, Buffer.from(`isin-${id}`), {})) });

  /** One life of the processor, in which everything is asked for more than once; gives the dead letters so far. */
  const live = async (status: number) => {
    const member = memberOf({ broker, clock, prices: answering(status), random: () => 0.5 });
    const problems = () =>
      member.seen.reduce((sum, { name, fields }) => (name === 'batchPriced' ? sum + fields.problems : sum), 0);
    await eventually('all were asked for three times', problems, (count) => count >= 3 * IDS.length);
    await member.stop();
    return broker
      .readCommitted(TOPICS.deadLetters.name, 0)
      .map(({ key }) => String(key))
      .toSorted();
  };
  assert.deepEqual(await live(404), IDS, 'each record is answered by one');
  assert.deepEqual(await live(404), IDS);
  assert.deepEqual(await live(410), [...IDS, ...IDS].toSorted(), 'another problem is another dead letter');
  assert.deepEqual(await live(404), [...IDS, ...IDS].toSorted());
});
