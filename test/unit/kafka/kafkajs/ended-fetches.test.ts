import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { loadKafkajs } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';

loadKafkajs();
const createFetchManager: (parts: object) => { start(): Promise<void>; stop(): Promise<void> } = createRequire(
  import.meta.url,
)('kafkajs/src/consumer/fetchManager');
const logger = { namespace: () => logger, debug() {}, info() {} };
/** The unpatched one goes on for ever. */
const MOST_FETCHES = 1_000;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A manager that fetches from two brokers, each until the test lets it end, and from others, each a turn long. Broker 3
 * leads in place of broker 1 since, and the fetch from that one has ended.
 */
async function startedManager() {
  const fetches = [1, 2].map((nodeId) => ({ nodeId, ...Promise.withResolvers<readonly unknown[]>() }));
  const fetched: number[] = [];
  let nodeIds = [1, 2];
  const parts = {
    logger,
    getNodeIds: () => nodeIds,
    handler: async () => {},
    async fetch(nodeId: number) {
      fetched.push(nodeId);
      if (fetched.length > MOST_FETCHES) process.exit(1);
      if (nodeIds.includes(3)) await turn();
      return fetches.find((one) => one.nodeId === nodeId)?.promise ?? [];
    },
  };
  const manager = createFetchManager(parts);
  const running = manager.start();
  await turn();
  nodeIds = [2, 3];
  fetches[0]?.resolve([]);
  return { manager, running, fetched, fetches };
}

test('a member that leaves while other brokers begin to lead fetches no more', async () => {
  const { manager, running, fetched, fetches } = await startedManager();
  await turn();
  // The loop of the first broker has ended, that of the second one is waited for.
  const stopped = manager.stop();
  fetches[1]?.resolve([]);
  await Promise.all([running, stopped]);
  assert.deepEqual(fetched, [1, 2]);
});

test('one that stays fetches from the new brokers, until it is stopped, and again when it is started again', async () => {
  const { manager, running, fetched, fetches } = await startedManager();
  fetches[1]?.resolve([]);
  for (let turns = 0; turns < 100 && !fetched.includes(3); turns++) await turn();
  assert.ok(fetched.includes(3));
  await Promise.all([running, manager.stop()]);
  const before = fetched.length;
  const again = manager.start();
  await turn();
  await Promise.all([again, manager.stop()]);
  assert.ok(fetched.length > before);
});
