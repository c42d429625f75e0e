import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import {
  type ConnectorCommand,
  logLines,
  plainText,
  startCommand,
} from '../../support/connectors/connector-command.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, type TestStack, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource, SOURCE_PARTITION } from '../../support/ledgers/at-rest.ts';
import { eventually } from '../../support/runner/eventually.ts';

const INSTRUMENTS = 150;
const HOUR_MS = 3_600_000;

interface Scene {
  readonly stack: TestStack;
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  /** `node src/main.ts run` with a settings file. */
  start(own?: Partial<ConnectorCommand>): Promise<ConnectorProcess>;
  /** How many records the instruments topic and the source's offsets hold when nothing writes any more. */
  written(): Promise<[instruments: number, offsets: number]>;
}

function scene(title: string, body: (t: TestContext, scene: Scene) => Promise<void>): void {
  test(title, { timeout: 1_200_000 }, async (t) => {
    const stack = await stackOrSkip(t);
    const kafka = (await kafkaOrSkip(t))?.connect();
    if (!stack || !kafka) return;
    const prefix = uniquePrefix('start');
    const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 6, port: 0 });
    t.after(() => simulator.close());
    await body(t, {
      stack,
      simulator,
      kafka,
      prefix,
      start: (own = {}) => startCommand(t, { stack, simulator, prefix, ...own }),
      async written() {
        await fenceSource(kafka, prefix);
        const instruments = await readCommitted(kafka, `${prefix}.instruments`, [0, 1, 2, 3, 4, 5]);
        const offsets = await readCommitted(kafka, `${prefix}.offsets`, [SOURCE_PARTITION]);
        return [instruments.length, offsets.length];
      },
    });
  });
}

/** Waits for the end by itself, with exit code 1; the last line of the log reports that it has stopped. */
async function assertFails(connector: ConnectorProcess): Promise<string> {
  const { code } = await connector.ended;
  assert.equal(code, 1, connector.lines.join('\n'));
  const last = logLines(connector).at(-1);
  assert.equal(last?.msg, 'stopped');
  assert.ok(last.cpuSeconds > 0 && last.peakMemoryBytes > 1_000_000);
  return plainText(connector);
}

/** Stops it as an orchestrator does. */
async function stop(connector: ConnectorProcess): Promise<void> {
  connector.child.kill('SIGTERM');
  assert.equal((await connector.ended).code, 0, connector.lines.join('\n'));
}

const walks = (connector: ConnectorProcess) =>
  logLines(connector)
    .filter(({ msg }) => msg === 'walk started')
    .map(({ walk }) => walk);

scene('a schema that the registry refuses as incompatible fails the source with nothing written', async (_t, scene) => {
  const subject = `${scene.prefix}.instruments-value`;
  // A field without a default that our schema lacks, and a key of another type: neither reads the other's records.
  const other = {
    type: 'record',
    name: 'Instrument',
    namespace: 'other',
    fields: [{ name: 'id', type: 'boolean' }],
  };
  const registered = await fetch(`${scene.stack.registryUrl}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema: JSON.stringify(other) }),
  });
  assert.equal(registered.status, 200);
  const connector = await scene.start();
  const said = await assertFails(connector);
  const failed = logLines(connector).find(({ level }) => level === 'error');
  assert.equal(failed?.msg, 'source failed, an operator is needed');
  assert.equal(failed.err.code, 'SCHEMA_INCOMPATIBLE');
  assert.match(said, new RegExp(`source instruments: SCHEMA_INCOMPATIBLE: .*${subject}`));
  assert.match(said, /compatible schema, or use another topic/);
  assert.deepEqual(await scene.written(), [0, 0]);
});

scene('an existing topic with another cleanup policy ends the start, and the text has the fix', async (_t, scene) => {
  const { prefix } = scene;
  const { offsets } = topicPlan({ prefix, names: {}, partitions: 6, replicationFactor: 1 });
  await scene.kafka.ensureTopics([{ ...offsets, settings: { 'cleanup.policy': 'delete' } }], { create: true });
  const connector = await scene.start();
  const said = await assertFails(connector);
  assert.match(said, /TOPIC_MISMATCH: .*cleanup\.policy=delete and needs compact/);
  assert.ok(
    said.includes(
      `kafka-configs.sh --alter --entity-type topics --entity-name ${prefix}.offsets --add-config cleanup.policy=[compact]`,
    ),
    said,
  );
  assert.equal(logLines(connector).find(({ level }) => level === 'error')?.err.code, 'TOPIC_MISMATCH');
  assert.equal(scene.simulator.requests.count('instruments'), 0);
});

scene('missing topics with topics.create: false end the start, and the text has the commands', async (_t, scene) => {
  const connector = await scene.start({ more: 'topics: { create: false }' });
  const said = await assertFails(connector);
  assert.match(said, /TOPIC_MISSING: .*missing\. What would create them/);
  assert.match(said, /Start the connector, .* or run `spconnect topics create`/);
  const commands = said
    .split('\n')
    .filter((line) => /^kafka-topics.sh --bootstrap-server \S+ --create --topic /.test(line));
  assert.deepEqual(
    commands.map((line) => line.split(' ')[5]),
    ['instruments', 'instrument-events', 'dead-letters', 'notifications', 'offsets', 'states'].map(
      (name) => `${scene.prefix}.${name}`,
    ),
  );
  for (const command of commands) assert.match(command, /--partitions \d+ .*--config cleanup\.policy=/);
});

scene('a filter other than the committed one fails the source, and what is there stays', async (_t, scene) => {
  const first = await scene.start();
  await first.line('walk completed');
  await stop(first);
  const before = await scene.written();
  assert.equal(before[0], INSTRUMENTS);
  const said = await assertFails(await scene.start({ source: { scope: 'my' } }));
  assert.match(said, /FILTER_CHANGED: .*instruments is set to ".*my.*", but its committed offset belongs to ".*all/);
  assert.deepEqual(await scene.written(), before);
});

scene('a restart within the walk interval writes no instrument; one after it walks again', async (_t, scene) => {
  const { requests } = scene.simulator;
  const first = await scene.start();
  await first.line('walk completed');
  await stop(first);
  const [before] = await scene.written();
  assert.equal(before, INSTRUMENTS);

  const [pages, events] = [requests.count('instruments'), requests.count('events')];
  const second = await scene.start();
  await eventually(
    'it follows the event stream',
    () => requests.count('events'),
    (count) => count >= events + 3,
  );
  await stop(second);
  assert.equal(requests.count('instruments'), pages, 'the list is not asked for');
  assert.deepEqual(walks(second), []);
  assert.equal((await scene.written())[0], before);

  scene.simulator.advanceClock(25 * HOUR_MS);
  const third = await scene.start();
  const { unchanged, records = 0 } = JSON.parse(await third.line('page committed'));
  await third.line('walk completed');
  await stop(third);
  assert.deepEqual(walks(third), [2]);
  assert.deepEqual([unchanged, records], [INSTRUMENTS, 0]);
  assert.equal((await scene.written())[0], before, 'what is on the topic already is not written again');
});

scene('a connector that stays up walks again when the interval is over', async (_t, scene) => {
  const connector = await scene.start({ source: { walkInterval: '3s' } });
  await connector.line('"walk":2,"since"');
  await stop(connector);
  // Where the stop took a while, the next one is due too.
  assert.deepEqual(walks(connector).slice(0, 2), [1, 2]);
});
