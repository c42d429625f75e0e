import assert from 'node:assert/strict';
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
