import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LogLine, logLines } from '../../support/connectors/connector-command.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { installation } from '../../support/connectors/installation.ts';
import { isStopped } from '../../support/connectors/running-process.ts';
import type { KillMoment } from '../../support/kafka/killing-kafka.ts';
import { universeViolations } from '../../support/ledgers/universe-log.ts';
import { universeOnTopics } from '../../support/ledgers/universe-on-topics.ts';
import { ledgerEvents, ledgerUniverse } from '../../support/ledgers/universe-reading.ts';
import { eventually } from '../../support/runner/eventually.ts';

const INSTRUMENTS = 200;
const CHANGES_PER_SECOND = 20;
/** What a busy machine may add to the time of a takeover, or three times what a start takes there. */
const SLACK_MS = 15_000;
/** The shortest that the settings take. */
const TRANSACTION_TIMEOUT_MS = 5_000;

const said = (replica: ConnectorProcess, msg: string) => logLines(replica).filter((line) => line.msg === msg);
const joined = (replica: ConnectorProcess): readonly number[] | undefined =>
  said(replica, 'joined the replicas').at(-1)?.partitions;
const owns = (replica: ConnectorProcess) => (joined(replica)?.length ?? 0) > 0;
const runs = (replica: ConnectorProcess) => said(replica, 'joined the replicas').at(-1)?.sources;
/** Among how many processes the replica has shared the request limit, one after the other. */
const shares = (replica: ConnectorProcess) =>
  said(replica, 'the share of the request limit has changed')
    .filter(({ client }) => client === 'referenceData')
    .map(({ processes }) => processes);
const losses = (replica: ConnectorProcess): readonly LogLine[] => said(replica, 'writer lost, opening again');
const opened = (replicas: readonly ConnectorProcess[]) => replicas.flatMap((replica) => said(replica, 'writer opened'));

async function prepare(t: TestContext) {
  const at = await installation(t, {
    simulator: { instruments: INSTRUMENTS },
    kafka: `, transactionTimeout: ${TRANSACTION_TIMEOUT_MS}ms`,
  });
  if (!at) return undefined;
  const { simulator, kafka, prefix } = at;
  const first = await ledgerUniverse(simulator);
  const count = async () => (await at.read('instrument-events')).length;
  return {
    simulator,
    start: () => at.startCommand(),
    /** A replica that stops itself at this moment, and goes on when the test asks it to. */
    startStalling: (moment: Omit<KillMoment, 'signal'>) => at.startKillable({ ...moment, signal: 'SIGSTOP' }),
    /** Waits until more events are on the topic. */
    async goesOn() {
      const before = await count();
      await eventually('events are committed', count, (now) => now > before + 5);
    },
    /** Waits until all that was published has come, and nothing is wrong on the topics. */
    async endsRight() {
      const published = (await ledgerEvents(simulator)).length;
      await eventually('all events have come', count, (now) => now >= published);
      const violations = async () => {
        const log = await universeOnTopics({ kafka, prefix, simulator, first, isDue: () => true });
        // What vanishes from the list has no event; only a walk finds that, and none runs here.
        return universeViolations(log).filter((violation) => !violation.endsWith('is a ghost'));
      };
      // The last transaction becomes visible partition by partition; what came twice or too late stays wrong.
      await eventually('nothing is wrong', violations, (found) => found.length === 0);
    },
  };
}

test('of replicas started at random moments one runs the source; killed, another takes over, and nothing comes twice', async (t) => {
  const parts = await prepare(t);
  if (!parts) return;
  const beganMs = performance.now();
  const first = await parts.start();
  await sleep(Math.random() * 500);
  const second = await parts.start();
  const replicas = [first, second];
  const partitions = () => replicas.map(joined);
  await eventually('both have joined', partitions, (all) => all.every((p) => p !== undefined));
  const slackMs = Math.max(SLACK_MS, 3 * (performance.now() - beganMs));
  const owners = () => replicas.filter(owns).length;
  await eventually('one owns the source', owners, (count) => count === 1);
  const [owner, other] = owns(first) ? [first, second] : [second, first];
  assert.deepEqual([runs(owner), runs(other)], [['instruments'], []]);
  // For a moment it may be halved in both, until each knows that the other one asks for nothing.
  const isWhole = () => (shares(owner).at(-1) ?? 1) === 1;
  await eventually('the owner has it for itself, since the other asks for nothing', isWhole, Boolean);
  // Every event from here on is one that the stream brings.
  // The first one to start may have walked before the group gave the source to the other.
  await Promise.any(replicas.map((replica) => replica.line('"msg":"walk completed"')));
  parts.simulator.setChangeRate(CHANGES_PER_SECOND);
  await parts.goesOn();
  const openedBefore = opened(replicas).length;
  // Before both had joined, each could count itself alone, and the later one fenced the earlier one.
  const lostAtStart = losses(other).length;
  await sleep(1_500);
  assert.equal(opened(replicas).length, openedBefore, 'nobody takes the source from the other');

  owner.child.kill('SIGKILL');
  const killedMs = performance.now();
  await eventually('the other owns the source', () => owns(other), Boolean);
  await other.line('"msg":"writer opened"');
  const tookOverMs = performance.now() - killedMs;
  const share = () => shares(other).at(-1) ?? 1;
  await eventually('the request limit is whole again', share, (processes) => processes === 1);
  await parts.goesOn();
  const third = await parts.start();
  const partition = () => joined(third);
  await eventually('the third has joined', partition, (held) => held !== undefined);
  assert.deepEqual(joined(third), [], 'who comes back takes nothing');
  await parts.goesOn();

  other.child.kill('SIGTERM');
  const stoppedMs = performance.now();
  await third.line('"msg":"writer opened"');
  const handedOverMs = performance.now() - stoppedMs;
  await parts.goesOn();
  parts.simulator.setChangeRate(0);
  await parts.endsRight();
  third.child.kill('SIGTERM');
  for (const replica of [other, third]) assert.equal((await replica.ended).code, 0);
  const lost = [...losses(other).slice(lostAtStart), ...losses(third)];
  // On a busy machine a request can take too long, which costs a new session; a fencing would come from the other replica.
  const others = lost.map(({ err }) => err.code).filter((code) => code !== 'KAFKA_UNREACHABLE');
  assert.deepEqual(others, [], 'no replica fences another');
  t.diagnostic(`taken over ${Math.round(tookOverMs)} ms after the kill, ${Math.round(handedOverMs)} ms after the stop`);
  assert.ok(tookOverMs < 10_000 + slackMs, `${tookOverMs} ms`);
  assert.ok(handedOverMs < 2_000 + slackMs, `${handedOverMs} ms`);
});

test('a replica that stood still for longer than its transaction may last is fenced when it goes on: nothing of its old life becomes visible, and nothing comes twice', async (t) => {
  const parts = await prepare(t);
  if (!parts) return;
  const lost = (replica: ConnectorProcess) => losses(replica).length;
  /** The owner stops itself in its next transaction, the heir takes over, and the owner goes on when that is too old. */
  async function stall(owner: ConnectorProcess, heir: ConnectorProcess) {
    const before = { opened: opened([heir]).length, lost: lost(heir) };
    owner.child.kill('SIGUSR2');
    const isStalled = () => isStopped(owner.child.pid ?? 0);
    await eventually('the owner stands still', isStalled, Boolean);
    const stalledMs = performance.now();
    const openings = () => opened([heir]).length;
    await eventually('the other opens its writer', openings, (n) => n > before.opened);
    await parts?.goesOn();
    await sleep(Math.max(0, stalledMs + TRANSACTION_TIMEOUT_MS + 500 - performance.now()));
    const [openedThen, joins] = [opened([owner]).length, () => said(owner, 'joined the replicas').length];
    const joinsThen = joins();
    owner.child.kill('SIGCONT');
    await eventually('the owner has joined again', joins, (n) => n > joinsThen);
    await sleep(1_000);
    await parts?.goesOn();
    assert.deepEqual(joined(owner), [], 'who comes back takes nothing');
    assert.equal(opened([owner]).length, openedThen, 'and opens no writer');
    assert.equal(lost(heir), before.lost, 'nobody fences the heir');
  }
  // All records of the one transaction are with the broker when its process stands still, and the commit is not; of the
  // other's, its process does not know whether it was committed.
  const first = parts.startStalling({ transaction: 1, at: 'after the offset record' });
  await first.line('"msg":"walk completed"');
  const second = parts.startStalling({ transaction: 1, at: 'commit sent' });
  await second.line('"msg":"joined the replicas"');
  parts.simulator.setChangeRate(CHANGES_PER_SECOND);
  await parts.goesOn();
  await stall(first, second);
  await stall(second, first);
  parts.simulator.setChangeRate(0);
  await parts.endsRight();
  for (const replica of [first, second]) {
    replica.child.kill('SIGTERM');
    assert.equal((await replica.ended).code, 0);
  }
});
