import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEMO_PROVIDER } from '../../src/dev/demo/demo-settings.ts';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { createMemoryRegistry, startOverridden } from '../support/connectors/overridden-connector.ts';
import { MemoryBroker } from '../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../support/memory-kafka/memory-cluster.ts';
import { createSharedTime } from '../support/runner/shared-time.ts';

const MINUTE_MS = 60_000;
const CHANGES_PER_SECOND = 3;

test('over 40 minutes of the demo no walk warns, and repaid products leave', async (t) => {
  const time = createSharedTime();
  const simulator = await createSimulator({ ...DEMO_PROVIDER, instruments: 600, clock: time.provider });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const connector = await startOverridden(t, {
    simulator,
    prefix: 'demo',
    overrides: {
      kafka: createMemoryCluster({ broker }),
      registry: createMemoryRegistry(),
      clock: time.connector,
      random: () => 0.5,
    },
    source: { pollInterval: '2s', walkInterval: '120s' },
  });
  time.after(MINUTE_MS, () => simulator.setChangeRate(CHANGES_PER_SECOND));
  time.after(40 * MINUTE_MS, () => void connector.stop());
  assert.deepEqual(await connector.ended, []);
  const notified = connector.seen.filter(({ name }) => name === 'notified').map(({ fields }) => fields.kind);
  assert.deepEqual(notified, []);
  const walks = connector.seen.filter(({ name }) => name === 'walkCompleted').map(({ fields }) => Number(fields.gone));
  assert.ok(walks.length >= 18, `${walks.length} walks`);
  const gone = walks.reduce((sum, count) => sum + count, 0);
  // A third of the two hours has passed, and a third of those that were repaid before has left.
  assert.ok(gone >= 15 && gone <= 25, `${gone} products left: ${walks.join(', ')}`);
});
