import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];
const KILLS = 2;
const PROGRAM = join(import.meta.dirname, '../../support/kafka/answering-process.ts');

interface Member {
  readonly process: ChildProcess;
  /** How often a partition became this member's. */
  assigned(): number;
}

function startMember(t: TestContext, ...args: readonly string[]): Member {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  let assigned = 0;
  child.stdout.on('data', (lines) => {
    assigned += String(lines).trim().split('\n').length;
  });
  return { process: child, assigned: () => assigned };
}

kafkaTest('a member that is killed in mid-work loses no record and answers none twice', async (t, kafka) => {
  const [broker = ''] = (await stackOrSkip(t))?.brokers ?? [];
  const cluster = kafka.connect();
  const { name: input } = await createTopic(cluster, {}, PARTITIONS);
  const { name: output } = await createTopic(cluster, {}, PARTITIONS);
  const writer = cluster.transactionalWriter(`${input}-writer`);
  await writer.open(async () => {}, t.signal);
  const expected: string[] = [];
  const write = async () => {
    const value = `value ${expected.length}`;
    const partition = expected.length % PARTITIONS;
    await writer.commit({ records: [{ topic: input, partition, key: null, value: Buffer.from(value), headers: {} }] });
    expected.push(value);
  };
  const members = [startMember(t, broker, input, output), startMember(t, broker, input, output)];
  const deadline = AbortSignal.timeout(600_000);
  for (let kill = 0; kill < KILLS; kill++) {
    while (members.some((member) => member.assigned() === 0)) {
      deadline.throwIfAborted();
      await write();
    }
    for (let record = 0; record < 20; record++) await write();
    members.shift()?.process.kill('SIGKILL');
    members.push(startMember(t, broker, input, output));
  }
  const answers = async () => (await readCommitted(cluster, output, ALL)).map(({ value }) => String(value));
  const all = (values: readonly string[]) => values.length >= expected.length;
  await eventually('every record is answered', answers, all, 120_000);
  assert.deepEqual((await answers()).sort(), expected.sort());
});
