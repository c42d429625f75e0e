import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { ConnectorOptions } from '../../../src/run/connector.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, type TestStack, uniquePrefix } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { type Ran, runWith } from '../../unit/commands/shell/terminal.ts';

const INSTRUMENTS = 60;
const PARTITIONS = [0, 1, 2, 3, 4, 5];
const PATIENCE_MS = 300_000;
/** A walk begins soon after it is asked for although the stream is polled seldom: a wait that is not ended shows. */
const SOURCE = { pollInterval: '1h', handoffMargin: '50ms', limit: 50 };

interface Scene {
  readonly stack: TestStack;
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  start(source?: Record<string, string | number>, overrides?: ConnectorOptions['overrides']): Promise<RunningConnector>;
  /** The command line as an operator uses it beside the connector. */
  spconnect(args: readonly string[], source?: Record<string, string | number>): Promise<Ran>;
  /** The ids that the instruments topic holds, as a reader of its newest values sees them. */
  held(): Promise<string[]>;
}

function scene(title: string, body: (t: TestContext, scene: Scene) => Promise<void>): void {
  test(title, { timeout: 1_200_000 }, async (t) => {
    const stack = await stackOrSkip(t);
    const kafka = (await kafkaOrSkip(t))?.connect();
    if (!stack || !kafka) return;
    const prefix = uniquePrefix('demand');
    const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 8, port: 0 });
    t.after(() => simulator.close());
    await body(t, {
      stack,
      simulator,
      kafka,
      prefix,
      start: (source = {}, overrides = {}) =>
        startConnector(t, { stack, simulator, prefix, source: { ...SOURCE, ...source }, overrides }),
      async spconnect(args, source = {}) {
        const file = await settingsFile(t, settingsText({ ...SOURCE, ...source }));
        const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix });
        return runWith([...args, '--config', file], { env });
      },
      async held() {
        const newest = new Map<string, boolean>();
        for (const { key, value } of await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS)) {
          newest.set(String(key), value !== null);
        }
        return [...newest].filter(([, isThere]) => isThere).map(([id]) => id);
      },
    });
  });
}

const completed = ({ seen }: RunningConnector) =>
  seen.filter(({ name }) => name === 'walkCompleted').map(({ fields }) => fields);

/** Waits until so many walks are completed; gives the last. */
async function walks(connector: RunningConnector, count: number) {
  const done = await eventually(
    `${count} walks`,
    () => completed(connector),
    (all) => all.length >= count,
    PATIENCE_MS,
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

scene(
  'a running connector walks again when it is asked to, not an hour later, once, also across restarts',
  async (_t, scene) => {
    const first = await scene.start();
    await walks(first, 1);
    const asked = await scene.spconnect(['walk', 'instruments', '--output', 'json']);
    assert.equal(asked.code, 0, asked.stderr);
    const { source, id, allowShrink } = JSON.parse(asked.stdout);
    assert.deepEqual([source, allowShrink], ['instruments', null]);
    assert.match(id, /^[0-9a-f-]{36}$/);
    const second = await walks(first, 2);
    assert.deepEqual([second.walk, second.unchanged, second.added], [2, INSTRUMENTS, 0]);
    assert.equal(
      first.seen.find(({ name, fields }) => name === 'walkStarted' && fields.walk === 2)?.fields.why,
      'requested',
    );
    await staysAt(first, 2);
    await first.stop();

    const again = await scene.start();
    await again.event('writerOpened');
    await staysAt(again, 0);
    await scene.spconnect(['walk', 'instruments']);
    assert.equal((await walks(again, 1)).walk, 3);
    await again.stop();

    // Two requests that no connector was there to see: one walk, for the newer, and none for any older one.
    await scene.spconnect(['walk', 'instruments']);
    await scene.spconnect(['walk', 'instruments']);
    const last = await scene.start();
    assert.equal((await walks(last, 1)).walk, 4);
    await staysAt(last, 1);
  },
);

scene('a walk that misses 60 % deletes nothing until it is allowed, and then exactly those', async (_t, scene) => {
  const connector = await scene.start();
  await walks(connector, 1);
  const before = await scene.held();
  assert.equal(before.length, INSTRUMENTS);
  const gone = vanish(scene.simulator, (INSTRUMENTS * 60) / 100);

  await scene.spconnect(['walk', 'instruments']);
  assert.equal((await walks(connector, 2)).gone, 0);
  const notified = connector.seen.filter(({ name }) => name === 'notified').map(({ fields }) => fields.kind);
  assert.deepEqual(notified, ['shrinkRefused']);
  assert.equal((await scene.held()).length, INSTRUMENTS);

  await scene.spconnect(['walk', 'instruments', '--allow-shrink', String(gone.length - 1)]);
  assert.equal((await walks(connector, 3)).gone, 0, 'one less than needed');

  const allow = ['--allow-shrink', String(gone.length), '--output', 'json'];
  const allowed = await scene.spconnect(['walk', 'instruments', ...allow]);
  assert.equal(JSON.parse(allowed.stdout).allowShrink, gone.length);
  assert.equal((await walks(connector, 4)).gone, gone.length);
  // They are committed at once, and become visible partition by partition.
  const left = await eventually(
    'the tombstones are visible',
    scene.held,
    (ids) => ids.length <= INSTRUMENTS - gone.length,
  );
  assert.deepEqual(left.sort(), before.filter((id) => !gone.includes(id)).sort());

  // What was allowed was allowed once.
  vanish(scene.simulator, 22);
  await scene.spconnect(['walk', 'instruments']);
  assert.equal((await walks(connector, 5)).gone, 0);
});

scene('a value of the states topic that cannot be read is passed over and reported', async (_t, scene) => {
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
  await scene.spconnect(['walk', 'instruments']);
  assert.equal((await walks(connector, 2)).walk, 2);
});

scene('nothing is asked of a source that the settings lack, nor where no connector has run', async (_t, scene) => {
  const never = await scene.spconnect(['walk', 'instruments']);
  assert.equal(never.code, 1);
  assert.match(never.stderr, /TOPIC_MISSING: There is no topic .*states: no connector .* Check prefix/);
  for (const args of [
    ['walk', 'instrument'],
    ['offsets', 'reset', 'instrument', '--execute'],
  ]) {
    const { code, stdout, stderr } = await scene.spconnect(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(
      stderr,
      /unknown source "instrument"\. The settings have: instruments\.\n\(Did you mean instruments\?\)/,
    );
  }
});
