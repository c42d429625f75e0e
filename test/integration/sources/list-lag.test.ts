import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { runWith } from '../../unit/commands/shell/terminal.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];
const PATIENCE_MS = 300_000;
const LAG_MS = 600_000;

const count = ({ seen }: RunningConnector, name: string) => seen.filter((event) => event.name === name).length;
const reported = ({ seen }: RunningConnector) =>
  seen.filter(({ name }) => name === 'notified').map(({ fields }) => String(fields.kind));

test('a list that lags the stream by minutes puts no row back and deletes no live instrument, restarts included', {
  timeout: 1_200_000,
}, async (t) => {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return;
  const prefix = uniquePrefix('list-lag');
  const simulator = await createSimulator({ instruments: 40, seed: 12, port: 0 });
  t.after(() => simulator.close());
  const start = () => startConnector(t, { stack, simulator, prefix });
  const walk = async (connector: RunningConnector) => {
    const before = count(connector, 'walkCompleted');
    const file = await settingsFile(t, settingsText({}));
    const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix });
    const asked = await runWith(['walk', 'instruments', '--config', file], { env });
    assert.equal(asked.code, 0, asked.stderr);
    const isDone = (walks: number) => walks > before;
    await eventually('a walk', () => count(connector, 'walkCompleted'), isDone, PATIENCE_MS);
  };
  const onTopic = () => readCommitted(kafka, `${prefix}.instruments`, PARTITIONS);

  const first = await start();
  await eventually(
    'the first walk',
    () => count(first, 'walkCompleted'),
    (walks) => walks === 1,
    PATIENCE_MS,
  );
  const [changed = '', left = ''] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
  simulator.setListLag(LAG_MS);
  simulator.publish({ kind: 'datachange', id: changed });
  const issued = String(simulator.publish({ kind: 'newissue' }).id);
  const events = () => first.seen.filter(({ name }) => name === 'streamCommitted').map(({ fields }) => fields.items);
  await eventually('both events', events, (all) => all.reduce((sum, n) => sum + n, 0) === 2, PATIENCE_MS);
  // What the stream reported is known to a process that starts after it, too.
  await first.stop();
  const second = await start();
  await walk(second);
  assert.deepEqual(reported(second), ['listLags', 'deletionSkipped']);
  const newest = new Map((await onTopic()).map((record) => [String(record.key), record]));
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
  const held = new Map((await onTopic()).map(({ key, value }) => [String(key), value !== null]));
  assert.deepEqual(
    [...held].filter(([, isThere]) => !isThere).map(([id]) => id),
    [left],
  );
  assert.equal(reported(second).length, 2);
});
