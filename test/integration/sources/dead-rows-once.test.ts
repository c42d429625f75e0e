import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { createMemoryRegistry, startOverridden } from '../../support/connectors/overridden-connector.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { createSharedTime } from '../../support/runner/shared-time.ts';

const HOUR_MS = 3_600_000;
const PREFIX = 'dead';

test('a row that does not map is one dead letter for its content, at every walk and after every restart', async (t) => {
  const time = createSharedTime();
  const simulator = await createSimulator({ instruments: 20, seed: 3, clock: time.provider });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const registry = createMemoryRegistry();
  const unmapped = (value: string) => {
    simulator.clearFaults();
    const edits = [{ pointer: '/instruments/3/issuePrice', value }];
    simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'edit', edits } }]);
  };
  /** One life of the process, with several walks; gives the dead letters so far. */
  const live = async () => {
    const overrides = { registry, clock: time.connector, random: () => 0.5, kafka: createMemoryCluster({ broker }) };
    const source = { walkInterval: '1h' };
    const connector = await startOverridden(t, { simulator, prefix: PREFIX, overrides, source });
    time.after(4 * HOUR_MS, () => void connector.stop());
    await connector.ended;
    const walks = connector.seen.filter(({ name }) => name === 'walkCompleted').length;
    assert.ok(walks >= 2, `${walks} walks`);
    return broker.readCommitted(`${PREFIX}.dead-letters`, 0).length;
  };
  unmapped('"no number"');
  assert.equal(await live(), 1);
  assert.equal(await live(), 1);
  unmapped('"another text"');
  assert.equal(await live(), 2);
});
