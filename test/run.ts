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

import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { KAFKA_VERSION_VARIABLE } from '../src/dev/local-stack/java-artifacts.ts';
import { startStackForRun } from './support/kafka/stack-for-run.ts';
import {
  areaProcesses,
  differsFromRelease,
  everydayFiles,
  stackProcesses,
  type TestProcess,
} from './support/runner/reporter-processes.ts';
import { runStep } from './support/runner/reporter-step.ts';
import { createTally, type TestCounts, type TestFailure, type TestPass } from './support/runner/reporter-tally.ts';

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
