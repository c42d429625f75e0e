import { test } from 'node:test';
import { systemClock } from '../../../src/support/clock.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { ALL_PRICED, memberOf, TOPICS } from './memory-prices.ts';

test('the processor reports how many members price together, so that they share the request limit', async (t) => {
  const broker = new MemoryBroker(() => 0);
  for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
  const start = () => memberOf({ broker, clock: systemClock, prices: ALL_PRICED, random: () => 0.5 });
  const [first, second] = [start(), start()];
  t.after(() => Promise.all([first.stop(), second.stop()]));
  const both = () => [first.members(), second.members()].join();
  await eventually('both count two', both, (counts) => counts === '2,2');
  await second.stop();
  await eventually('the first is alone', first.members, (count) => count === 1);
});
