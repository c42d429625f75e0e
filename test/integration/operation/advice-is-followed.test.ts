import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { describeError } from '../../../src/commands/shell/describe-error.ts';
import { ERROR_CODES, type ErrorCode } from '../../../src/errors.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { setTopic } from '../../support/kafka/raw-kafkajs.ts';
import { eventually } from '../../support/runner/eventually.ts';

/*
 * Every command that an error advises is run here as it is written, in the scene that causes the error, and then the
 * cause is gone. The last test compares what was followed with what the sources of the project advise.
 */

const INSTRUMENTS = 30;
const PARTITIONS = 6;
const edit = [{ pointer: '/issuePrice', value: '"wrong"' }];
const faults = [
  { match: 'instruments' as const, count: 0, fault: { kind: 'poison' as const, rows: [2], how: { edit } } },
];
/** What the scenes change between two starts. */
const MORE = `topics: { create: "\${CREATE:-true}" }
mapping: { maxDeadLetters: "\${MAX_DEAD:-1}" }`;
/** With it the process stays when its only source fails. */
const STAYS = { ADMIN_ENABLED: 'true' };
const redaction = { redact: (text: string) => text };

const followed = new Set<ErrorCode>();
/** `backfill` is followed by the test of backfills, beside the prices that it needs. */
const commandsFollowed = new Set(['backfill']);

/** The commands of an advice stand between backticks. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/`spconnect ([^`]+)`/g)].map(([, command = '']) => command);
}

/** Runs each command of the advice; all must succeed. */
async function follow(scene: Installation, code: ErrorCode, text: string, env?: Record<string, string>) {
  assert.ok(text.startsWith(code), `${code} expected: ${text}`);
  followed.add(code);
  const commands = commandsIn(text);
  assert.ok(commands.length > 0, text);
  const ran = [];
  for (const command of commands) ran.push({ command, ...(await run(scene, command, env)) });
  return ran;
}

async function run(scene: Installation, command: string, env?: Record<string, string>) {
  assert.doesNotMatch(command, /[<>]/, `a command with a gap: ${command}`);
  const ran = await scene.spconnect(command, env);
  assert.equal(ran.code, 0, `${command}: ${ran.stderr}`);
  commandsFollowed.add(nameOf(command));
  return ran;
}

/** `offsets reset` of `offsets reset instruments --execute`. */
function nameOf(command: string): string {
  const [first = '', second = ''] = command.split(' ');
  return ['offsets', 'dead-letters', 'topics', 'schemas'].includes(first) ? `${first} ${second}` : first;
}

/** How a source failed, as `run` shows it. */
async function failureOf(connector: RunningConnector): Promise<string> {
  const { source, err } = (await connector.event('sourceFailed')).fields;
  return describeError(err, redaction, String(source));
}

const SCENE = {
  simulator: { instruments: INSTRUMENTS, faults },
  source: { scope: `"\${SCOPE:-all}"` },
  more: MORE,
};

testInstallation(
  'what an error advises can be done as it is written, and mends what the error reports',
  SCENE,
  async (t, scene) => {
    const { simulator, prefix } = scene;
    const raw = scene.broker.plain();
    const [producer, admin] = [raw.producer(), raw.admin()];
    for (const client of [producer, admin]) {
      await client.connect();
      t.after(() => client.disconnect());
    }

    await t.test('TOPIC_MISSING', async () => {
      const refused = await (await scene.start({ env: { CREATE: 'false' } })).ended.catch((error: unknown) => error);
      await follow(scene, 'TOPIC_MISSING', describeError(refused, redaction));
    });

    let connector = await scene.start({ env: { ...STAYS, CREATE: 'false', REGISTER: 'false' } });
    await t.test('SCHEMA_NOT_REGISTERED', async () => {
      await follow(scene, 'SCHEMA_NOT_REGISTERED', await failureOf(connector));
      await connector.event('walkCompleted');
    });

    await t.test('audit', async () => {
      // As if another program had deleted it.
      const [, , , , { id: key } = { id: '' }] = [...simulator.ledger.instruments()];
      const message = { key: String(key), value: null, partition: partitionFor(Buffer.from(String(key)), PARTITIONS) };
      await producer.send({ topic: `${prefix}.instruments`, messages: [message] });
      const { code, stdout, stderr } = await scene.spconnect('audit --settle 1s');
      assert.deepEqual([code, stdout.split('\n').length], [1, 3], stdout);
      await run(scene, /spconnect (walk .*)/.exec(stderr)?.[1] ?? '');
      const audit = () => scene.spconnect('audit --settle 1s');
      await eventually('the walk has corrected it', audit, (again) => again.code === 0);
    });

    await t.test('DEAD_LETTER_UNKNOWN', async () => {
      const { stderr } = await scene.spconnect('dead-letters show 4711');
      const [listed] = await follow(scene, 'DEAD_LETTER_UNKNOWN', stderr);
      // Below the names of the columns.
      const id = /^\d+/m.exec(listed?.stdout ?? '')?.[0];
      assert.match((await run(scene, `dead-letters show ${id}`)).stdout, /issuePrice/);
    });

    await t.test('OFFSET_NOT_FOUND', async () => {
      const { stderr } = await scene.spconnect('offsets set instruments --since 99999999999999-0');
      const [listed] = await follow(scene, 'OFFSET_NOT_FOUND', stderr);
      const since = /\b\d+-\d+\b/.exec(listed?.stdout ?? '')?.[0];
      await run(scene, `offsets set instruments --since ${since}`);
    });

    await t.test('SOURCE_NOT_STOPPED', async () => {
      const command = 'offsets reset instruments --execute';
      const { stderr } = await scene.spconnect(command);
      assert.ok(stderr.startsWith('SOURCE_NOT_STOPPED'), stderr);
      followed.add('SOURCE_NOT_STOPPED');
      const walks = () => connector.fieldsOf('walkCompleted').length;
      const before = walks();
      const [stop = '', resume = ''] = commandsIn(stderr);
      for (const next of [stop, command, resume]) await run(scene, next);
      await eventually('it walks from the beginning', walks, (now) => now > before);
    });

    await t.test('changes without the admin server', async () => {
      for (const command of ['pause instruments', 'resume instruments']) await run(scene, command);
    });

    await t.test('TOPIC_DELETED', async () => {
      await admin.deleteTopics({ topics: [`${prefix}.instruments`] });
      const lost = async () => {
        simulator.change(1);
        return connector.fieldsOf('writerLost').find(({ err }) => err.code === 'TOPIC_DELETED');
      };
      const missing = await eventually('it cannot write', lost, (found) => found !== undefined);
      for (const command of commandsIn(String(missing?.err.message))) await run(scene, command);
      const isFilled = () =>
        connector.seen.some(({ name, fields }) => name === 'walkStarted' && fields.why === 'topicReplaced');
      await eventually('a walk fills it', isFilled, (is) => is);
      assert.equal(connector.fieldsOf('sourceFailed').length, 1, 'it waited, and did not fail');
    });

    await t.test('TOPIC_REFUSED', async () => {
      await setTopic(admin, `${prefix}.instrument-events`, 'max.message.bytes', '100');
      await eventually(
        'it has failed',
        async () => {
          simulator.change(1);
          return connector.fieldsOf('sourceFailed');
        },
        ({ length }) => length > 1,
      );
      const failed = connector.fieldsOf('sourceFailed').at(-1);
      await setTopic(admin, `${prefix}.instrument-events`, 'max.message.bytes', '1048588');
      await follow(scene, 'TOPIC_REFUSED', describeError(failed.err, redaction, 'instruments'));
      const events = connector.seen.length;
      simulator.change(1);
      const commits = async () => connector.seen.slice(events).filter(({ name }) => name === 'streamCommitted');
      await eventually('it writes again', commits, ({ length }) => length > 0);
    });

    await t.test('FILTER_CHANGED', async () => {
      await connector.stop();
      const env = { SCOPE: 'my' };
      const checked = await scene.spconnect('validate --connect', env);
      assert.equal(checked.code, 1, checked.stdout);
      const says = /^failed +offset of source instruments +.*"scope=my".*`spconnect stop instruments`/m;
      assert.match(checked.stdout, says);
      connector = await scene.start({ env: { ...STAYS, ...env } });
      await follow(scene, 'FILTER_CHANGED', await failureOf(connector), env);
      await connector.event('walkCompleted');
      const now = await scene.spconnect('validate --connect', env);
      assert.match(now.stdout, /^ok +offset of source instruments /m);
      await connector.stop();
    });

    await t.test('OFFSET_UNREADABLE', async () => {
      const key = offsetKey('instruments', 'instruments');
      const message = { key, value: 'not JSON', partition: offsetPartition(key) };
      await producer.send({ topic: `${prefix}.offsets`, messages: [message] });
      connector = await scene.start({ env: STAYS });
      await follow(scene, 'OFFSET_UNREADABLE', await failureOf(connector));
      await connector.event('walkCompleted');
      await connector.stop();
    });

    await t.test('TOO_MANY_DEAD_LETTERS', async () => {
      connector = await scene.start({ env: { ...STAYS, MAX_DEAD: '0.05' } });
      simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'poison', share: 1, how: { edit } } }]);
      await run(scene, 'walk instruments');
      const [shown] = await follow(scene, 'TOO_MANY_DEAD_LETTERS', await failureOf(connector));
      assert.match(shown?.stdout ?? '', /issuePrice/);
    });
  },
);

test('every command that an error or a message advises was followed', async (t) => {
  if (followed.size === 0) return t.skip('there is no Kafka');
  const advised = Object.entries(ERROR_CODES).filter(([, { remedy }]) => remedy.includes('spconnect'));
  assert.deepEqual([...followed].sort(), advised.map(([code]) => code).sort());
  const root = new URL('../../../src/', import.meta.url);
  const files = (await readdir(root, { recursive: true })).filter((name) =>
    /^(?!commands\/shell\/|commands\/.*-command|dev\/|admin\/status\/).*\.ts$/.test(name),
  );
  const named = await Promise.all(
    files.map(async (name) => [
      ...(await readFile(new URL(name, root), 'utf8')).matchAll(/spconnect (?!run\b)([a-z][a-z -]+)/g),
    ]),
  );
  const notFollowed = named
    .flat()
    .flatMap(([, command = '']) => (commandsFollowed.has(nameOf(command.trim())) ? [] : [command]));
  assert.deepEqual(notFollowed, []);
});
