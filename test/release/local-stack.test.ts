import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { kafkaJars } from '../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../src/dev/local-stack/java-runtime.ts';
import { startKafka } from '../../src/dev/local-stack/kafka-cluster.ts';
import { startJavaStack } from '../../src/dev/local-stack/local-stack.ts';
import { acceptsConnections, answersApiVersions, hostAndPort } from '../../src/dev/local-stack/probes.ts';
import { ConnectorError } from '../../src/errors.ts';
import { systemClock } from '../../src/support/clock.ts';
import { isRunning } from '../support/connectors/running-process.ts';
import { orSkip } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';

const LIMIT_MS = 600_000;

function context(signal = new AbortController().signal) {
  return { env: process.env, clock: systemClock, onProgress: () => undefined, signal };
}

/** Makes the system's folder for temporary files one of the test's own, to see what is left in it. */
async function ownTemporaryFolder(t: TestContext): Promise<string> {
  const [before, folder] = [process.env.TMPDIR, await mkdtemp(join(tmpdir(), 'local-stack-test-'))];
  process.env.TMPDIR = folder;
  t.after(async () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * The commands of the processes that this one started and that still run.
 * One that ended stays in the list as a zombie until its parent asks for its exit code.
 */
function children(): string[] {
  const lines = execFileSync('ps', ['-A', '-o', 'ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  const processes = lines.map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []);
  const ours = processes.filter(([, ppid, state]) => ppid === String(process.pid) && !state?.startsWith('Z'));
  return ours.map(([, , , command = '']) => command).filter((command) => !command.includes('ps -A -o'));
}

function answers(broker: string): Promise<boolean> {
  const { host, port } = hostAndPort(broker);
  return answersApiVersions(host, port);
}

/** What was killed is gone once the system has come to it. */
async function assertNothingIsLeft(folder?: string): Promise<void> {
  await eventually('the processes are gone', children, ({ length }) => length === 0, LIMIT_MS);
  assert.deepEqual([children(), folder === undefined ? [] : await readdir(folder)], [[], []]);
}

test('a stack started with Java answers, and leaves no process, no port and no folder', async (t) => {
  const folder = await ownTemporaryFolder(t);
  const stack = await orSkip(t, () => startJavaStack(context()));
  if (!stack) return;
  const [broker = ''] = stack.brokers;
  await eventually('the broker answers', () => answers(broker), Boolean, LIMIT_MS);
  assert.deepEqual(await (await fetch(`${stack.registryUrl}/subjects`)).json(), []);
  assert.equal(children().filter((line) => line.includes('kafka.Kafka')).length, 1);
  await stack.stop();
  await stack.stop();
  await assertNothingIsLeft(folder);
  const registry = new URL(stack.registryUrl);
  const open = [hostAndPort(broker), { host: registry.hostname, port: Number(registry.port) }];
  assert.deepEqual(await Promise.all(open.map(({ host, port }) => acceptsConnections(host, port))), [false, false]);
});

test('an interrupted start leaves no process and no folder', async (t) => {
  const folder = await ownTemporaryFolder(t);
  // A download takes its time before there is a broker to interrupt.
  if (!(await orSkip(t, async () => (await usableJava(process.env)) && kafkaJars(context())))) return;
  const interrupted = new AbortController();
  const reason = new Error('Ctrl-C');
  const start = startKafka(context(interrupted.signal));
  const refused = assert.rejects(start, reason);
  await eventually('a broker runs', children, (lines) => lines.some((line) => line.includes('kafka.Kafka')), LIMIT_MS);
  interrupted.abort(reason);
  await refused;
  await assertNothingIsLeft(folder);
});

test('a broker that cannot start reports why, and keeps its log', async (t) => {
  const folder = await ownTemporaryFolder(t);
  const settings = { 'metric.reporters': 'no.such.Reporter' };
  const error = await orSkip(t, () =>
    startKafka({ ...context(), settings }).then(
      () => assert.fail('started'),
      (thrown: Error) => (thrown.message.includes('did not start') ? thrown : Promise.reject(thrown)),
    ),
  );
  if (!error) return;
  assert.match(error.message, /^Kafka .* did not start: kafka-broker-1 ended with code 1; its last line: .*\.log\)$/);
  const log = /\(log: (.*)\)$/.exec(error.message)?.[1] ?? '';
  assert.ok(log.startsWith(folder));
  assert.match(await readFile(log, 'utf8'), /no\.such\.Reporter/);
  await assertNothingIsLeft();
});

test('a process that is killed hard takes its Kafka and its folder with it', async (t) => {
  const folder = await ownTemporaryFolder(t);
  const victim = spawn(process.execPath, [join(import.meta.dirname, '../support/kafka/stack-victim.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  });
  const lines = createInterface(victim.stdout);
  const [line] = await Promise.race([once(lines, 'line'), once(victim, 'exit')]);
  const reported = await orSkip(t, async () => {
    if (typeof line !== 'string') throw new ConnectorError('STACK_UNAVAILABLE', 'the program that starts it ended');
    return JSON.parse(line) as { pids: number[]; brokers: string[] };
  });
  if (!reported) return;
  const { pids, brokers } = reported;
  await eventually('the broker answers', () => answers(brokers[0] ?? ''), Boolean, LIMIT_MS);
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  const running = () => pids.filter(isRunning);
  await eventually('no process runs', running, ({ length }) => length === 0, LIMIT_MS);
  const left = () => readdir(folder);
  await eventually('the folder is empty', left, ({ length }) => length === 0, LIMIT_MS);
});
