import assert from 'node:assert/strict';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import {
  type Installation,
  type InstallationOptions,
  testInstallation,
} from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { eventually } from '../../support/runner/eventually.ts';

const INSTRUMENTS = 60;
/** A walk begins soon after it is asked for although the stream is polled seldom: a wait that is not ended shows. */
const SCENE: InstallationOptions = {
  simulator: { instruments: INSTRUMENTS },
  source: { pollInterval: '1h', handoffMargin: '50ms', limit: 50 },
};

/** The ids that the instruments topic holds, as a reader of its newest values sees them. */
async function idsOn({ read }: Installation): Promise<string[]> {
  const newest = new Map((await read('instruments')).map(({ key, value }) => [String(key), value !== null]));
  return [...newest].filter(([, isThere]) => isThere).map(([id]) => id);
}

const completed = (connector: RunningConnector) => connector.fieldsOf('walkCompleted');

/** Waits until so many walks are completed; gives the last. */
async function walks(connector: RunningConnector, count: number) {
  const done = await eventually(
    `${count} walks`,
    () => completed(connector),
    (all) => all.length >= count,
  );
  assert.equal(done.length, count);
  return done.at(-1);
}

/** Long enough for a walk that nobody asked for to show; each takes a tenth of that here. */
async function staysAt(connector: RunningConnector, count: number): Promise<void> {
  await new Promise((next) => setTimeout(next, 1_500));
  assert.equal(completed(connector).length, count);
}

function vanish(simulator: Simulator, count: number): string[] {
  const ids = [...simulator.ledger.instruments()].slice(0, count).map(({ id }) => String(id));
  for (const id of ids) simulator.publish({ kind: 'vanish', id });
  return ids;
}

testInstallation(
  'a running connector walks again when it is asked to, not an hour later, once, also across restarts',
  SCENE,
  async (_t, scene) => {
    const first = await scene.start();
    await walks(first, 1);
    const asked = await scene.spconnect('walk instruments --output json');
    assert.equal(asked.code, 0, asked.stderr);
    const { source, id, allowShrink } = JSON.parse(asked.stdout);
    assert.deepEqual([source, allowShrink], ['instruments', null]);
    assert.match(id, /^[0-9a-f-]{36}$/);
    const second = await walks(first, 2);
    assert.deepEqual([second.walk, second.unchanged, second.added], [2, INSTRUMENTS, 0]);
    assert.equal(first.fieldsOf('walkStarted').find(({ walk }) => walk === 2).why, 'requested');
    await staysAt(first, 2);
    await first.stop();

    const again = await scene.start();
    await again.event('writerOpened');
    await staysAt(again, 0);
    await scene.spconnect('walk instruments');
    assert.equal((await walks(again, 1)).walk, 3);
    await again.stop();

    // Two requests that no connector was there to see: one walk, for the newer, and none for any older one.
    await scene.spconnect('walk instruments');
    await scene.spconnect('walk instruments');
    const last = await scene.start();
    assert.equal((await walks(last, 1)).walk, 4);
    await staysAt(last, 1);
  },
);

testInstallation(
  'a walk that misses 60 % deletes nothing until it is allowed, and then exactly those',
  SCENE,
  async (_t, scene) => {
    const connector = await scene.start();
    await walks(connector, 1);
    const before = await idsOn(scene);
    assert.equal(before.length, INSTRUMENTS);
    const gone = vanish(scene.simulator, (INSTRUMENTS * 60) / 100);

    await scene.spconnect('walk instruments');
    assert.equal((await walks(connector, 2)).gone, 0);
    const notified = connector.fieldsOf('notified').map(({ kind }) => kind);
    assert.deepEqual(notified, ['shrinkRefused']);
    assert.equal((await idsOn(scene)).length, INSTRUMENTS);

    await scene.spconnect(`walk instruments --allow-shrink ${gone.length - 1}`);
    assert.equal((await walks(connector, 3)).gone, 0, 'one less than needed');

    const allowed = await scene.spconnect(`walk instruments --allow-shrink ${gone.length} --output json`);
    assert.equal(JSON.parse(allowed.stdout).allowShrink, gone.length);
    assert.equal((await walks(connector, 4)).gone, gone.length);
    // They are committed at once, and become visible partition by partition.
    const left = await eventually(
      'the tombstones are visible',
      () => idsOn(scene),
      (ids) => ids.length <= INSTRUMENTS - gone.length,
    );
    assert.deepEqual(left.sort(), before.filter((id) => !gone.includes(id)).sort());

    // What was allowed was allowed once.
    vanish(scene.simulator, 22);
    await scene.spconnect('walk instruments');
    assert.equal((await walks(connector, 5)).gone, 0);
  },
);

testInstallation(
  'a value of the states topic that cannot be read is passed over and reported',
  SCENE,
  async (_t, scene) => {
    const connector = await scene.start();
    await walks(connector, 1);
    const writer = scene.kafka.transactionalWriter(`${scene.prefix}-test`);
    await writer.open(async () => {}, AbortSignal.timeout(600_000));
    const key = Buffer.from('instruments');
    const record = { topic: `${scene.prefix}.states`, partition: 0, key, headers: {} };
    await writer.commit({ records: [{ ...record, value: Buffer.from('{"state":"asleep"}') }] });
    const notice = await connector.event('stateUnreadable');
    assert.equal(notice.fields.source, 'instruments');
    assert.match(notice.fields.offset, /^\d+$/);
    await scene.spconnect('walk instruments');
    assert.equal((await walks(connector, 2)).walk, 2);
  },
);

testInstallation(
  'nothing is asked of a source that the settings lack, nor where no connector has run',
  SCENE,
  async (_t, scene) => {
    const never = await scene.spconnect('walk instruments');
    assert.equal(never.code, 1);
    assert.match(never.stderr, /TOPIC_MISSING: There is no topic \S+states\. Perhaps no connector .* Check prefix/);
    for (const [line, what] of [
      ['walk instrument', 'instruments source'],
      ['audit instrument', 'instruments source'],
      ['offsets reset instrument --execute', 'source'],
    ]) {
      const { code, stdout, stderr } = await scene.spconnect(String(line));
      assert.deepEqual([code, stdout], [2, '']);
      const says = `unknown ${what} "instrument". The settings enable: instruments.\n(Did you mean instruments?)`;
      assert.ok(stderr.includes(says), stderr);
    }
  },
);
