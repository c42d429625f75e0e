import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { CORE_MUTANTS, loadMutant } from './core-mutants.ts';
import { FOUND_BY } from './found-by.ts';
import { type CoreModules, type LapMistake, REAL_CORE } from './model-core.ts';
import { modelSeed } from './model-runs.ts';
import { runScenario } from './model-world.ts';
import { busyWalks, rareScenarios, replacedTopics, replicasBehind, scenarios } from './scenario.ts';

/** A mistake that takes longer to show would slip through on most days. */
const MOST_RUNS = 8_000;

const OTHER_SCENARIOS = { rare: rareScenarios, busyWalks, replacedTopics, replicasBehind } as const;

/** The run that finds it, from 1, and what it found: the one that found it before, or else the first that does. */
function runUntilCaught(title: string, modules: CoreModules, mistake: LapMistake | null) {
  const { run, among } = FOUND_BY[title] ?? { run: 1 };
  const seed = modelSeed();
  const runs = among === undefined ? scenarios : OTHER_SCENARIOS[among];
  const [known] = fc.sample(runs, { seed, path: String(run - 1), numRuns: 1 });
  const before = known && runScenario(known, modules, mistake).violations[0];
  if (before !== undefined) return { isCaught: true, runs: run, found: before };
  let found = '';
  const property = fc.property(runs, (scenario) => {
    found = runScenario(scenario, modules, mistake).violations[0] ?? '';
    return found === '';
  });
  const { failed, numRuns } = fc.check(property, { numRuns: MOST_RUNS, seed, endOnFailure: true });
  return { isCaught: failed, runs: numRuns, found: `${found} (found-by.ts names run ${run})` };
}

for (const mutant of CORE_MUTANTS) {
  test(`the model finds the mistake: ${mutant.mistake}`, async (t) => {
    const { isCaught, runs, found } = runUntilCaught(mutant.mistake, await loadMutant(mutant), null);
    assert.ok(isCaught, `not found in ${runs} runs`);
    t.diagnostic(`${mutant.mistake}: found in run ${runs}: ${found}`);
  });
}

const LAP_MISTAKES: Readonly<Record<LapMistake, string>> = {
  offsetReadBeforeFencing: 'the offset is read before fencing',
  writerReusedAfterUnansweredCommit: 'the producer is used again after an unanswered commit',
  opensWithoutProof: 'a writer opens again without proof that it still holds the partition',
  absentNextTakenAsEnd: 'an absent links.next is taken as the end of the list',
  streamStartedFromLastPage: 'the stream starts from the last page of the walk',
  drainAskedBeforePage: 'a drain begins with a response that was asked for before the page arrived',
  drainOfEarlierArrival:
    'a drain begins with a response that was asked for when the page arrived first, and was spoiled',
};

for (const [mistake, title] of Object.entries(LAP_MISTAKES) as [LapMistake, string][]) {
  test(`the model finds the mistake: ${title}`, (t) => {
    const { isCaught, runs, found } = runUntilCaught(title, REAL_CORE, mistake);
    assert.ok(isCaught, `not found in ${runs} runs`);
    t.diagnostic(`${title}: found in run ${runs}: ${found}`);
  });
}

const LAP_TITLES = Object.values(LAP_MISTAKES);
const CORE_TITLES = CORE_MUTANTS.map(({ mistake }) => mistake);

/** What connectors like this one get wrong, and the test that finds it: of the model, or where the mistake can be made. */
const WRONG_VARIANTS: Readonly<Record<string, string | { readonly file: string; readonly title: string }>> = {
  'the stream starts from the last page of the walk': 'the stream starts from the last page of the walk',
  'a row wins over a newer event': 'a row wins over a newer event',
  'the offset is read before fencing': 'the offset is read before fencing',
  'touched begins after the margin': 'touched begins after the margin',
  'a drain begins with a response from before the page':
    'a drain begins with a response that was asked for before the page arrived',
  'a drain ends at the first empty answer': 'a drain ends at the first empty answer',
  'a wrong date hides a gap': 'a wrong date hides a gap',
  'a replacement is adopted after gapProof though the log lags':
    'an offset that is only suspected is given up after gapProof though the log lags',
  'census minus seen after a crash': 'census minus seen after a crash',
  'a writer opens again without proof': 'a writer opens again without proof that it still holds the partition',
  'an abort follows a failed send': {
    file: 'integration/hazards/kafkajs-hazards-failed-send.test.ts',
    title: 'H1: our writer is dead after a failed send, and what it commits once opened again is there',
  },
  'a producer is used again after a failed send': {
    file: 'integration/hazards/kafkajs-hazards-failed-send.test.ts',
    title: 'H1: our writer is dead after a failed send, and what it commits once opened again is there',
  },
  'no commit on an empty page': 'no commit on an empty answer',
  'an absent next is the end': 'an absent links.next is taken as the end of the list',
  'a producer is reused after an unanswered commit': 'the producer is used again after an unanswered commit',
  'numbers are read as floats': {
    file: 'unit/records/json/json-body.test.ts',
    title: 'numbers stay as they were written',
  },
  'decimals are written from floats': {
    file: 'unit/records/avro/decimal.test.ts',
    title: 'every number gives the nearest decimal, ties to even, in as few bytes as it takes',
  },
};

for (const [variant, caughtBy] of Object.entries(WRONG_VARIANTS)) {
  test(`there is a test that finds it when ${variant}`, () => {
    if (typeof caughtBy === 'string') return assert.ok([...LAP_TITLES, ...CORE_TITLES].includes(caughtBy), caughtBy);
    const text = readFileSync(resolve(import.meta.dirname, '..', caughtBy.file), 'utf8');
    assert.ok(text.includes(`'${caughtBy.title}'`), `${caughtBy.file} has no test "${caughtBy.title}"`);
  });
}
