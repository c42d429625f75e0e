import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { type LogLine, logLines, startCommand } from '../support/connector-command.ts';
import type { ConnectorProcess } from '../support/connector-process.ts';
import { kafkaOrSkip, readCommitted } from '../support/kafka-real.ts';
import { eventually } from '../support/raw-kafkajs-cluster.ts';
import { stackOrSkip, uniquePrefix } from '../support/stack.ts';
import { universeViolations } from '../support/universe-log.ts';
import { contents, ledgerEvents, ledgerUniverse } from '../support/universe-reading.ts';

const INSTRUMENTS = 200;
const CHANGES_PER_SECOND = 20;
const PATIENCE_MS = 60_000;
/** What a test of a busy machine may add to the time of a takeover. */
const SLACK_MS = 15_000;
const PARTITIONS = [0, 1, 2, 3, 4, 5];

const said = (replica: ConnectorProcess, msg: string) => logLines(replica).filter((line) => line.msg === msg);
const joined = (replica: ConnectorProcess): readonly number[] | undefined =>
  said(replica, 'joined the replicas').at(-1)?.partitions;
const owns = (replica: ConnectorProcess) => (joined(replica)?.length ?? 0) > 0;
const runs = (replica: ConnectorProcess) => said(replica, 'joined the replicas').at(-1)?.sources;
const opened = (replicas: readonly ConnectorProcess[]) => replicas.flatMap((replica) => said(replica, 'writer opened'));

async function prepare(t: TestContext) {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const prefix = uniquePrefix('replicas');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 5, port: 0 });
  t.after(() => simulator.close());
  const first = await ledgerUniverse(simulator);
  const read = async (name: string) => contents(await readCommitted(kafka, `${prefix}.${name}`, PARTITIONS));
  const count = async () => (await read('instrument-events')).length;
  return {
    simulator,
    start: () => startCommand(t, { stack, simulator, prefix }),
    /** Waits until more events are on the topic. */
    async goesOn() {
      const before = await count();
      await eventually('events are committed', count, (now) => now > before + 5, PATIENCE_MS);
    },
    /** What is wrong on the topics, once all that was published has come. */
    async violations() {
      const published = (await ledgerEvents(simulator)).map(({ key, event, instrument }) => ({
        key,
        event,
        instrument,
      }));
      await eventually('all events have come', count, (now) => now >= published.length, PATIENCE_MS);
      const versions = new Map([...first].map(([id, content]) => [id, [content]]));
      for (const { key, instrument } of published) versions.set(key, [...(versions.get(key) ?? []), instrument]);
      const found = universeViolations({
        versions,
        universe: await ledgerUniverse(simulator),
        published: published.map(({ key, event }) => ({ key, content: event })),
        instruments: await read('instruments'),
        events: await read('instrument-events'),
      });
      // What vanishes from the list has no event; only a walk finds that, and none runs here.
      return found.filter((violation) => !violation.endsWith('is a ghost'));
    },
  };
}

test('of replicas started at random moments one runs the source; killed, another takes over, and nothing comes twice', async (t) => {
  const parts = await prepare(t);
  if (!parts) return;
  const first = await parts.start();
  await sleep(Math.random() * 500);
  const second = await parts.start();
  const replicas = [first, second];
  await eventually(
    'both have joined',
    () => replicas.map(joined),
    (all) => all.every((p) => p !== undefined),
    PATIENCE_MS,
  );
  await eventually(
    'one owns the source',
    () => replicas.filter(owns).length,
    (count) => count === 1,
    PATIENCE_MS,
  );
  const [owner, other] = owns(first) ? [first, second] : [second, first];
  assert.deepEqual([runs(owner), runs(other)], [['instruments'], []]);
  // Every event from here on is one that the stream brings.
  await owner.line('"msg":"walk completed"');
  parts.simulator.setChangeRate(CHANGES_PER_SECOND);
  await parts.goesOn();
  const openedBefore = opened(replicas).length;
  await sleep(1_500);
  assert.equal(opened(replicas).length, openedBefore, 'nobody takes the source from the other');

  owner.child.kill('SIGKILL');
  const killedMs = performance.now();
  await eventually('the other owns the source', () => owns(other), Boolean, PATIENCE_MS);
  await other.line('"msg":"writer opened"');
  const tookOverMs = performance.now() - killedMs;
  await parts.goesOn();
  const third = await parts.start();
  await eventually(
    'the third has joined',
    () => joined(third),
    (held) => held !== undefined,
    PATIENCE_MS,
  );
  assert.deepEqual(joined(third), [], 'who comes back takes nothing');
  await parts.goesOn();

  other.child.kill('SIGTERM');
  const stoppedMs = performance.now();
  await third.line('"msg":"writer opened"');
  const handedOverMs = performance.now() - stoppedMs;
  await parts.goesOn();
  parts.simulator.setChangeRate(0);
  assert.deepEqual(await parts.violations(), []);
  third.child.kill('SIGTERM');
  for (const replica of [other, third]) assert.equal((await replica.ended).code, 0);
  const lost = [other, third].flatMap((replica) => said(replica, 'writer lost, opening again')) as LogLine[];
  assert.deepEqual(
    lost.map(({ err }) => err.code),
    [],
  );
  t.diagnostic(`taken over ${Math.round(tookOverMs)} ms after the kill, ${Math.round(handedOverMs)} ms after the stop`);
  assert.ok(tookOverMs < 10_000 + SLACK_MS);
  assert.ok(handedOverMs < 2_000 + SLACK_MS);
});
