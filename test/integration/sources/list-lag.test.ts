import assert from 'node:assert/strict';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';

const LAG_MS = 600_000;

const reported = (connector: RunningConnector) => connector.fieldsOf('notified').map(({ kind }) => String(kind));
const TITLE =
  'a list that lags the stream by minutes puts no row back and deletes no live instrument, restarts included';

testInstallation(
  TITLE,
  { simulator: { instruments: 40, seed: 12 } },
  async (_t, { simulator, start, spconnect, read }) => {
    const walk = async (connector: RunningConnector) => {
      const before = connector.fieldsOf('walkCompleted').length;
      const asked = await spconnect('walk instruments');
      assert.equal(asked.code, 0, asked.stderr);
      await connector.until('a walk', () => connector.fieldsOf('walkCompleted').length > before);
    };

    const first = await start();
    await first.event('walkCompleted');
    const [changed = '', left = ''] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
    simulator.setListLag(LAG_MS);
    simulator.publish({ kind: 'datachange', id: changed });
    const issued = String(simulator.publish({ kind: 'newissue' }).id);
    const events = () => first.fieldsOf('streamCommitted').reduce((sum, committed) => sum + committed.items, 0);
    await first.until('both events', () => events() === 2);
    // What the stream reported is known to a process that starts after it, too.
    await first.stop();
    const second = await start();
    await walk(second);
    assert.deepEqual(reported(second), ['listLags', 'deletionSkipped']);
    const newest = new Map((await read('instruments')).map((record) => [String(record.key), record]));
    for (const id of [changed, issued]) {
      const record = newest.get(id);
      assert.ok(record?.value, `${id} is there`);
      assert.equal(record.headers['spc-endpoint'], '/v1/instruments/events', `${id} is as the event reported it`);
    }
    assert.equal(newest.size, 41);

    // Once the list has caught up, the next walk deletes what is gone.
    simulator.setListLag(0);
    simulator.publish({ kind: 'vanish', id: left });
    await walk(second);
    const held = new Map((await read('instruments')).map(({ key, value }) => [String(key), value !== null]));
    const missing = [...held].filter(([, isThere]) => !isThere).map(([id]) => id);
    assert.deepEqual(missing, [left]);
    assert.equal(reported(second).length, 2);
  },
);
