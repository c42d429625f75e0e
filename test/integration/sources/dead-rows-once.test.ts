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

test('an instrument whose newest event is a dead letter shows no lag of the list, after a restart too', async (t) => {
  const { simulator, time, live, read } = await memoryScene(t, { instruments: 20, seed: 3 });
  const change = (id: string) => simulator.publish({ kind: 'datachange', id });
  const [first = '', second = ''] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
  const changeTwice = (id: string, afterMs: number) => {
    time.after(afterMs, () => change(id));
    time.after(afterMs + HOUR_MS / 20, () => {
      const edits = [{ pointer: '/events/0/instrument/issuePrice', value: '"no number"' }];
      simulator.injectFaults([{ match: 'events', count: 0, fault: { kind: 'edit', edits } }]);
      change(id);
    });
    time.after(afterMs + HOUR_MS / 10, () => simulator.clearFaults());
  };
  changeTwice(first, HOUR_MS / 2);
  const walks = [await live(1.2 * HOUR_MS, { walkInterval: '1h' })];
  changeTwice(second, HOUR_MS / 10);
  walks.push(await live(HOUR_MS / 5, { walkInterval: '1h' }), await live(0.8 * HOUR_MS, { walkInterval: '1h' }));
  const counts = walks.map((life) => life.fieldsOf('walkCompleted').map(({ contradicting }) => contradicting));
  assert.deepEqual(counts, [[0, 1], [], [1]]);
  assert.equal((await read('dead-letters')).length, 2);
  assert.deepEqual(
    walks.flatMap((life) => life.fieldsOf('notified')),
    [],
  );
});
