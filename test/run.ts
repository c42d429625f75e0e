// What `npm test` runs: types and lint, then every test file, against one Kafka and one schema registry that it starts.
//
//   node test/run.ts                 everything
//   node test/run.ts unit            the files with "unit" in their path; several such words may be given
//   node test/run.ts --kafka 3.9.1 integration   against another release of Kafka
//   node test/run.ts --brokers 3 integration/hazards   against so many brokers, each of which leads some partitions
//
// A file that failed is run once more, alone, when at most three did: what passes then is listed before the last line.
// Without a way to start Kafka, the tests that need it are skipped, or fail when CI is set.

import { globSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { KAFKA_VERSION_VARIABLE } from '../src/local-stack/java-artifacts.ts';
import { startStackForRun } from './support/kafka/stack-for-run.ts';
import { runStep } from './support/runner/reporter-step.ts';
import { createTally, type TestCounts, type TestFailure, type TestPass } from './support/runner/reporter-tally.ts';

const TEST_TIMEOUT_MS = 1_800_000;
const RUN_TIMEOUT_MS = 7_200_000;
/** On two cores: a test on a real broker waits for about half of its time. */
const FILES_AT_ONCE = 3;
/** More than this many failed files are no moment's bad luck. */
const FILES_TO_REPEAT = 3;
const NEEDS_STACK = /^test\/(integration|security)\//;

const root = resolve(import.meta.dirname, '..');
const { values, positionals: filters } = parseArgs({
  options: { kafka: { type: 'string' }, brokers: { type: 'string', default: '1' } },
  allowPositionals: true,
});
// For the stack of this run, and for those that tests start themselves.
if (values.kafka !== undefined) process.env[KAFKA_VERSION_VARIABLE] = values.kafka;
const nodes = Number(values.brokers);
if (!Number.isInteger(nodes) || nodes < 1)
  throw new Error(`--brokers ${values.brokers}: expected a whole number from 1.`);
if (nodes > 1 && process.env.KAFKA_BROKERS) {
  throw new Error('--brokers starts brokers, and KAFKA_BROKERS names some: leave out one of the two.');
}
const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  .sort();

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => interrupted.abort(new Error(`Interrupted by ${name}`)));
}
const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(RUN_TIMEOUT_MS)]);

const tally = createTally();
const stack = files.some((file) => NEEDS_STACK.test(file)) ? startStackForRun(tally, signal, nodes) : undefined;
try {
  // The checks take a while, in which the stack comes up. A part of the tests is run for quick answers, without them.
  if (filters.length === 0) {
    for (const name of ['types', 'lint']) tally.add(name, await runStep(name, root, signal));
  }
  await stack?.started;
  if (files.length === 0) tally.fail(`No test file has ${filters.join(' or ')} in its path`);
  else if (!signal.aborted) await runFiles();
  if (signal.aborted) tally.fail(signal.reason instanceof Error ? signal.reason.message : String(signal.reason));
} finally {
  await stack?.stop();
}
process.stdout.write(tally.report(), () => process.exit(tally.isGood() ? 0 : 1));

/** What failed is run once more, alone: one moment in which the machine was busy elsewhere does not fail 2,000 tests. */
async function runFiles(): Promise<void> {
  const first = await runOnce(files, FILES_AT_ONCE);
  const suspects = [...new Set(first.failures.map(({ file }) => file))];
  const isWorthIt = suspects.length <= FILES_TO_REPEAT && suspects.every((file) => file !== '') && !signal.aborted;
  tally.count(first, suspects.length > 0 && isWorthIt ? await runOnce(suspects, 1) : undefined);
}

async function runOnce(paths: readonly string[], concurrency: number): Promise<TestPass> {
  const failures: TestFailure[] = [];
  let counts: TestCounts = { tests: 0, passed: 0, skipped: 0, todo: 0 };
  const results = run({
    cwd: root,
    files: paths.map((path) => join(root, path)),
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
