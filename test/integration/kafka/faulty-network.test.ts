import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../simulation/random.ts';
import { findSequenceFaults, NONE_WRONG, SEED, writePagesThroughFaults } from '../../support/kafka/faulty-pages.ts';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { openOurCluster } from '../../support/network/tcp-proxy-cluster.ts';
import type { FaultRule } from '../../support/network/tcp-proxy-faults.ts';

const ALWAYS = Number.POSITIVE_INFINITY;
const FAULTS: readonly FaultRule[] = [
  { on: 'Produce', fault: 'cutRequest', chance: 0.03 },
  { on: 'Produce', fault: 'cutAnswer', chance: 0.05 },
  { on: 'Produce', fault: 'cutAnswer', chance: 0.03, burst: 4 },
  { on: 'Produce', fault: 'dropRequest', chance: 0.02 },
  { on: 'Produce', fault: 'dropAnswer', chance: 0.03 },
  { on: 'Produce', fault: 'blackHole', chance: 0.02 },
  { on: 'Produce', fault: 'delayAnswer', delayMs: 100, chance: 0.05 },
  { on: 'EndTxn', fault: 'cutRequest', chance: 0.05 },
  { on: 'EndTxn', fault: 'cutAnswer', chance: 0.08 },
  { on: 'EndTxn', fault: 'dropRequest', chance: 0.03 },
  { on: 'EndTxn', fault: 'dropAnswer', chance: 0.05 },
  { on: 'EndTxn', fault: 'blackHole', chance: 0.03 },
  { on: 'AddPartitionsToTxn', fault: 'cutAnswer', chance: 0.04 },
  { on: 'AddPartitionsToTxn', fault: 'dropAnswer', chance: 0.02 },
  { on: 'InitProducerId', fault: 'cutAnswer', chance: 0.1 },
  { on: 'InitProducerId', fault: 'dropRequest', chance: 0.05 },
  { on: ['FindCoordinator', 'Metadata'], fault: 'cutRequest', chance: 0.02 },
  { on: 'Fetch', fault: 'cutAnswer', chance: 0.03 },
];

testOnBroker(
  'through a network that drops, cuts and black-holes, every record comes once and in order',
  async (t, raw) => {
    const [topic, offsets] = [await raw.createTopic({ partitions: 2 }), await raw.createTopic()];
    const random = seededRandom(SEED);
    // Fewer retries than a burst is long.
    const tuning = { requestTimeoutMs: 400, retries: 2, maxRetryMs: 100, readStallMs: 3_000 };
    const ours = openOurCluster(t, { ...raw, tuning, random });
    const rules = FAULTS.map((rule) => raw.proxy.addRule({ times: ALWAYS, ...rule, random }));
    const pages = { ours, topic, offsets, partitions: [0, 1], pages: 30, recordsPerPage: 4, view: raw.view };
    await writePagesThroughFaults(t, pages, rules, raw.proxy.clearRules);
    const written = new Set(raw.proxy.trace.filter(({ api }) => api === 'Produce').map(({ broker }) => broker));
    assert.ok(written.size >= Math.min(2, raw.brokers.length), 'several brokers lead the partitions');
  },
);

test('the check of the sequence sees a record missing, doubled, swapped or made up', () => {
  assert.deepEqual(findSequenceFaults([1, 2, 3, 4], 4), NONE_WRONG);
  assert.deepEqual(findSequenceFaults([1, 3, 4], 4), { ...NONE_WRONG, missing: 1 });
  assert.deepEqual(findSequenceFaults([1, 2, 2, 3, 4], 4), { ...NONE_WRONG, twice: 1 });
  assert.deepEqual(findSequenceFaults([1, 3, 2, 4], 4), { ...NONE_WRONG, outOfOrder: 1 });
  assert.deepEqual(findSequenceFaults([1, 2, 3, 4, 5], 4), { ...NONE_WRONG, unexpected: 1 });
});
