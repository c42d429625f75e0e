import assert from 'node:assert/strict';
import { logLines, plainText } from '../../support/connectors/connector-command.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import {
  type Installation,
  type InstallationOptions,
  testInstallation,
} from '../../support/connectors/installation.ts';
import { fenceSource, SOURCE_PARTITION } from '../../support/ledgers/at-rest.ts';
import { eventually } from '../../support/runner/eventually.ts';

const INSTRUMENTS = 150;
const HOUR_MS = 3_600_000;
const SCENE: InstallationOptions = { simulator: { instruments: INSTRUMENTS } };

/** How many records the instruments topic and the source's offsets hold when nothing writes any more. */
async function written({ kafka, prefix, read }: Installation): Promise<[instruments: number, offsets: number]> {
  await fenceSource(kafka, prefix);
  const offsets = (await read('offsets')).filter(({ partition }) => partition === SOURCE_PARTITION);
  return [(await read('instruments')).length, offsets.length];
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

async function stop(connector: ConnectorProcess): Promise<void> {
  connector.child.kill('SIGTERM');
  assert.equal((await connector.ended).code, 0, connector.lines.join('\n'));
}

const walks = (connector: ConnectorProcess) =>
  logLines(connector)
    .filter(({ msg }) => msg === 'walk started')
    .map(({ walk }) => walk);

testInstallation(
  'a schema that the registry refuses as incompatible fails the source with nothing written',
  SCENE,
  async (_t, scene) => {
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
    const connector = await scene.startCommand();
    const said = await assertFails(connector);
    const failed = logLines(connector).find(({ level }) => level === 'error');
    assert.equal(failed?.msg, 'source failed, an operator is needed');
    assert.equal(failed.err.code, 'SCHEMA_INCOMPATIBLE');
    assert.match(said, new RegExp(`source instruments: SCHEMA_INCOMPATIBLE: .*${subject}`));
    assert.match(said, /compatible schema, or use another topic/);
    assert.deepEqual(await written(scene), [0, 0]);
  },
);

testInstallation(
  'an existing topic with another cleanup policy ends the start, and the text has the fix',
  SCENE,
  async (_t, scene) => {
    const { prefix, plan } = scene;
    await scene.kafka.ensureTopics([{ ...plan.offsets, settings: { 'cleanup.policy': 'delete' } }], { create: true });
    const connector = await scene.startCommand();
    const said = await assertFails(connector);
    assert.match(said, /TOPIC_MISMATCH: .*cleanup\.policy=delete and needs compact/);
    assert.ok(
      said.includes(
        `kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${prefix}.offsets --add-config cleanup.policy=[compact]`,
      ),
      said,
    );
    assert.equal(logLines(connector).find(({ level }) => level === 'error')?.err.code, 'TOPIC_MISMATCH');
    assert.equal(scene.simulator.requests.count('instruments'), 0);
  },
);

testInstallation(
  'missing topics with topics.create: false end the start, and the text has the commands',
  SCENE,
  async (_t, scene) => {
    const connector = await scene.startCommand({ more: 'topics: { create: false }' });
    const said = await assertFails(connector);
    assert.match(said, /TOPIC_MISSING: .*missing\. These commands create them/);
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
  },
);

testInstallation(
  'a restart within the walk interval writes no instrument; one after it walks again',
  SCENE,
  async (_t, scene) => {
    const { requests } = scene.simulator;
    const first = await scene.startCommand();
    await first.line('walk completed');
    await stop(first);
    const [before] = await written(scene);
    assert.equal(before, INSTRUMENTS);

    const [pages, events] = [requests.count('instruments'), requests.count('events')];
    const second = await scene.startCommand();
    const polls = () => requests.count('events');
    await eventually('it follows the event stream', polls, (count) => count >= events + 3);
    await stop(second);
    assert.equal(requests.count('instruments'), pages, 'the list is not asked for');
    assert.deepEqual(walks(second), []);
    assert.equal((await written(scene))[0], before);

    scene.simulator.advanceClock(25 * HOUR_MS);
    const third = await scene.startCommand();
    const { notWritten, records = 0 } = JSON.parse(await third.line('page committed'));
    await third.line('walk completed');
    await stop(third);
    assert.deepEqual(walks(third), [2]);
    assert.deepEqual([notWritten, records], [INSTRUMENTS, 0]);
    assert.equal((await written(scene))[0], before, 'what is on the topic already is not written again');
  },
);
