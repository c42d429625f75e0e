// Runs types and lint, then the test files, against one Kafka and one schema registry that it starts.
//
//   node test/run.ts                 `npm test`: everything that holds a guarantee
//   node test/run.ts --all           `npm run test:all`: also test/release, and the hazards of raw kafkajs
//   node test/run.ts unit            the files with "unit" in their path; several such words may be given
//   node test/run.ts --kafka 3.9.1 integration   against another release of Kafka
//   node test/run.ts --brokers 3 integration/hazards   against so many brokers, each of which leads some partitions
//
// Unit tests and models share a process per area, other files have their own. A process in which a test failed is run once
// more, alone, when at most three did: what passes then is listed before the last line.
// Without a way to start Kafka, the tests that need it are skipped, or fail when CI is set.

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import type { BrokerSettings } from '../src/dev/local-stack/broker-settings.ts';
import {
  KAFKA_VERSION_VARIABLE,
  kafkaJars,
  registryFiles,
  registryFor,
} from '../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../src/dev/local-stack/java-runtime.ts';
import { startKafka } from '../src/dev/local-stack/kafka-cluster.ts';
import { startLocalStack } from '../src/dev/local-stack/local-stack.ts';
import { startRegistry } from '../src/dev/local-stack/registry.ts';
import { type StackContext, startTogether } from '../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../src/errors.ts';
import { systemClock } from '../src/support/clock.ts';
import { PATIENT_BROKER } from './support/kafka/patient-broker.ts';
import { STACK_MISSING } from './support/kafka/stack-missing.ts';
import {
  areaProcesses,
  differsFromRelease,
  everydayFiles,
  stackProcesses,
  type TestProcess,
} from './support/runner/reporter-processes.ts';
import {
  createTally,
  type Tally,
  type TestCounts,
  type TestFailure,
  type TestPass,
} from './support/runner/reporter-tally.ts';

/**
 * Runs one npm script as a step of the test run, and shows its output when it fails.
 *
 * @returns why it failed, or undefined.
 */
async function runStep(name: string, root: string, signal: AbortSignal): Promise<string | undefined> {
  const startedMs = performance.now();
  const child = spawn('npm', ['run', '--silent', name], { cwd: root, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  const failed = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => resolve(code === 0 ? undefined : `npm run ${name} ended with code ${code}`));
  });
  const output = await Promise.all([text(child.stdout), text(child.stderr)]);
  const failure = await failed;
  const sign = failure === undefined ? '✔' : '✖';
  process.stdout.write(`${sign} ${name} (${Math.round(performance.now() - startedMs)}ms)\n`);
  if (failure !== undefined) process.stdout.write(`${output.join('')}\n`);
  return failure;
}

/** The coordinators of groups and transactions are different brokers, and mostly others than a partition's leader. */
const SPREAD_COORDINATORS: BrokerSettings = {
  'offsets.topic.num.partitions': '3',
  'transaction.state.log.num.partitions': '3',
};

/**
 * Starts the stack and names it in the environment, which the test processes inherit. Never rejects: what goes wrong is in
 * the tally and in the environment.
 *
 * @param nodes how many brokers; more than one need Java and Maven.
 */
function startStackForRun(tally: Tally, signal: AbortSignal, nodes: number) {
  const onProgress = (line: string) => process.stdout.write(`  stack: ${line}\n`);
  const context: StackContext = { env: { ...process.env }, clock: systemClock, onProgress, signal };
  const starting =
    nodes > 1 ? startCluster(context, nodes) : startLocalStack({ ...context, brokerSettings: PATIENT_BROKER });
  const started = starting.then(
    (stack) => {
      process.env.KAFKA_BROKERS = stack.brokers.join(',');
      process.env.SCHEMA_REGISTRY_URL = stack.registryUrl;
    },
    (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      process.env[STACK_MISSING] = reason;
      if (process.env.CI) tally.fail(`stack: ${reason}`);
      else tally.warn(`Every test that needs Kafka. ${reason}`);
    },
  );
  const stop = async () => {
    await started;
    await starting.then(
      (stack) => stack.stop(),
      () => undefined,
    );
  };
  return { started, stop };
}

/** Several brokers and a registry. */
async function startCluster(context: StackContext, nodes: number) {
  const java = await usableJava(context.env);
  const release = registryFor(java.version);
  if (!release) throw new ConnectorError('STACK_UNAVAILABLE', `No registry runs on Java ${java.version}`);
  // One after the other and before anything runs, as for one broker.
  await kafkaJars(context);
  await registryFiles(context, release);
  context.onProgress(`Starting Kafka, ${nodes} brokers, and Apicurio Registry ${release.version}.`);
  const settings = { ...PATIENT_BROKER, ...SPREAD_COORDINATORS };
  const [kafka, registry] = await startTogether([
    () => startKafka({ ...context, java, nodes, settings }),
    () => startRegistry({ ...context, java, release }),
  ]);
  const stop = async () => {
    await Promise.all([kafka.stop(), registry.stop()]);
  };
  return { brokers: kafka.brokers, registryUrl: registry.registryUrl, stop };
}

const TEST_TIMEOUT_MS = 1_800_000;
const RUN_TIMEOUT_MS = 7_200_000;
/** On two cores, both beside each other: unit tests compute, and a test on a real broker waits for most of its time. */
const AREAS_AT_ONCE = 1;
const FILES_AT_ONCE = 5;
/** Enough for a release; the usual run has fewer. */
const MANY_MODEL_RUNS = '2000';
const MANY_FUZZ_SECONDS = '30';
/** More than this many that failed are no moment's bad luck. */
const PROCESSES_TO_REPEAT = 3;

const root = resolve(import.meta.dirname, '..');
const { values, positionals: words } = parseArgs({
  options: { kafka: { type: 'string' }, brokers: { type: 'string', default: '1' }, all: { type: 'boolean' } },
  allowPositionals: true,
});
// For the stack of this run, and for those that tests start themselves.
if (values.kafka !== undefined) process.env[KAFKA_VERSION_VARIABLE] = values.kafka;
if (values.all) {
  process.env.MODEL_RUNS ??= MANY_MODEL_RUNS;
  process.env.FUZZ_SECONDS ??= MANY_FUZZ_SECONDS;
}
const nodes = Number(values.brokers);
if (!Number.isInteger(nodes) || nodes < 1)
  throw new Error(`--brokers ${values.brokers}: expected a whole number from 1.`);
if (nodes > 1 && process.env.KAFKA_BROKERS) {
  throw new Error('--brokers starts brokers, and KAFKA_BROKERS names some: leave out one of the two.');
}
const files = chosenFiles();
// What is compiled is kept for the processes that follow: a start reads TypeScript otherwise, half a second of CPU each time.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/tests');
const folder = mkdtempSync(join(tmpdir(), 'test-areas-'));
const [areas, others] = [areaProcesses(root, files, folder), stackProcesses(root, files)];

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => interrupted.abort(new Error(`Interrupted by ${name}`)));
}
const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(RUN_TIMEOUT_MS)]);

const tally = createTally();
const stack = others.length > 0 ? startStackForRun(tally, signal, nodes) : undefined;
try {
  // The stack comes up meanwhile. A part of the tests is run for quick answers, without the checks.
  if (words.length === 0) {
    await Promise.all(['types', 'lint'].map(async (name) => tally.add(name, await runStep(name, root, signal))));
  }
  if (files.length === 0) tally.fail(`No test file has ${words.join(' or ')} in its path`);
  else if (!signal.aborted) await runFiles();
  if (signal.aborted) tally.fail(signal.reason instanceof Error ? signal.reason.message : String(signal.reason));
} finally {
  rmSync(folder, { recursive: true, force: true });
  await stack?.stop();
}
process.stdout.write(tally.report(), () => process.exit(tally.isGood() ? 0 : 1));

function chosenFiles(): readonly string[] {
  const all = globSync('{src,test}/**/*.test.ts', { cwd: root }).sort();
  if (words.length > 0) return all.filter((file) => words.some((word) => file.includes(word)));
  return values.all ? all : everydayFiles(all, () => differsFromRelease(root));
}

/** What failed is run once more, alone: one moment in which the machine was busy elsewhere does not fail 2,000 tests. */
async function runFiles(): Promise<void> {
  const onStack = async () => {
    await stack?.started;
    return runOnce(others, FILES_AT_ONCE);
  };
  const first = together(...(await Promise.all([runOnce(areas, AREAS_AT_ONCE), onStack()])));
  const suspects = suspectsOf(first.failures);
  const isWorthIt = suspects !== null && suspects.length <= PROCESSES_TO_REPEAT && !signal.aborted;
  const repeated = isWorthIt && suspects.length > 0 ? await runOnce(suspects, 1) : undefined;
  tally.count(first, repeated);
}

/** The processes in which something failed; null where one is not known. All tests of one are repeated: it may have ended early. */
function suspectsOf(failures: readonly TestFailure[]): readonly TestProcess[] | null {
  const failed = (file: string) =>
    [...areas, ...others].find(({ entry, files }) => files.includes(file) || entry === resolve(root, file));
  const suspects = [...new Set(failures.map(({ file }) => failed(file)))];
  return suspects.every((suspect) => suspect !== undefined) ? suspects : null;
}

function together(one: TestPass, other: TestPass): TestPass {
  const [a, b] = [one.counts, other.counts];
  const counts = {
    tests: a.tests + b.tests,
    passed: a.passed + b.passed,
    skipped: a.skipped + b.skipped,
    todo: a.todo + b.todo,
  };
  return { counts, failures: [...one.failures, ...other.failures] };
}

async function runOnce(processes: readonly TestProcess[], concurrency: number): Promise<TestPass> {
  const failures: TestFailure[] = [];
  let counts: TestCounts = { tests: 0, passed: 0, skipped: 0, todo: 0 };
  if (processes.length === 0 || signal.aborted) return { counts, failures };
  const results = run({
    cwd: root,
    files: processes.map(({ entry }) => entry),
    concurrency,
    isolation: 'process',
    timeout: TEST_TIMEOUT_MS,
    execArgv: ['--import', join(root, 'test/support/runner/reporter-leaks.ts')],
    signal,
  });
  results.on('test:fail', ({ name, file, details }) => {
    // A suite that failed only because of its tests: they are listed themselves.
    if ((details.error as { failureType?: string }).failureType === 'subtestsFailed') return;
    // A file that fails outside its tests is reported under its whole path.
    failures.push({ file: file ? relative(root, file) : '', title: name === file ? 'outside its tests' : name });
  });
  results.on('test:summary', ({ file, counts: ended }) => {
    if (file === undefined) counts = ended;
  });
  for await (const text of results.compose(new spec())) process.stdout.write(text);
  return { counts, failures };
}
