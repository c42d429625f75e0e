import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEMO_PROVIDER } from '../../src/dev/demo/demo-settings.ts';
import { MINUTE_MS, memoryScene } from '../support/connectors/memory-scene.ts';

const CHANGES_PER_SECOND = 3;

test('over 40 minutes of the demo no walk warns, and repaid products leave', async (t) => {
  const { time, simulator, live } = await memoryScene(t, { ...DEMO_PROVIDER, instruments: 600 });
  time.after(MINUTE_MS, () => simulator.setChangeRate(CHANGES_PER_SECOND));
  const connector = await live(40 * MINUTE_MS, { pollInterval: '2s', walkInterval: '120s' });
  assert.deepEqual(await connector.ended, []);
  assert.deepEqual(connector.fieldsOf('notified'), []);
  const walks = connector.fieldsOf('walkCompleted').map(({ gone }) => Number(gone));
  assert.ok(walks.length >= 18, `${walks.length} walks`);
  const gone = walks.reduce((sum, count) => sum + count, 0);
  // A third of the two hours has passed, and a third of those that were repaid before has left.
  assert.ok(gone >= 15 && gone <= 25, `${gone} products left: ${walks.join(', ')}`);
});
