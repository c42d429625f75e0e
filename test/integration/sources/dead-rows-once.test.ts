import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR_MS, memoryScene } from '../../support/connectors/memory-scene.ts';

test('a row that does not map is one dead letter for its content, at every walk and after every restart', async (t) => {
  const { simulator, live, read } = await memoryScene(t, { instruments: 20, seed: 3 });
  /** One life of the process, with several walks; gives the dead letters so far. */
  const lettersAfter = async (value: string) => {
    simulator.clearFaults();
    const edits = [{ pointer: '/instruments/3/issuePrice', value }];
    simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'edit', edits } }]);
    const walks = (await live(4 * HOUR_MS, { walkInterval: '1h' })).fieldsOf('walkCompleted').length;
    assert.ok(walks >= 2, `${walks} walks`);
    return (await read('dead-letters')).length;
  };
  assert.equal(await lettersAfter('"no number"'), 1);
  assert.equal(await lettersAfter('"no number"'), 1);
  assert.equal(await lettersAfter('"another text"'), 2);
});
