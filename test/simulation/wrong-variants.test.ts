import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CORE_MUTANTS, loadMutant } from './core-mutants.ts';
import { type CoreModules, type LapMistake, REAL_CORE } from './model-core.ts';
import { modelSeed } from './model-runs.ts';
import { runScenario } from './model-world.ts';
import { scenarios } from './scenario.ts';

/** A mistake that takes longer to show would slip through on most days. */
const MOST_RUNS = 8_000;

/** How many runs it takes, from 1, and what they found. */
function runUntilCaught(modules: CoreModules, mistake: LapMistake | null) {
  let found = '';
  const property = fc.property(scenarios, (scenario) => {
    found = runScenario(scenario, modules, mistake).violations[0] ?? '';
    return found === '';
  });
  const { failed, numRuns } = fc.check(property, { numRuns: MOST_RUNS, seed: modelSeed(), endOnFailure: true });
  return { isCaught: failed, runs: numRuns, found };
}

for (const mutant of CORE_MUTANTS) {
  test(`the model finds the mistake: ${mutant.mistake}`, async (t) => {
    const { isCaught, runs, found } = runUntilCaught(await loadMutant(mutant), null);
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
};

for (const [mistake, title] of Object.entries(LAP_MISTAKES) as [LapMistake, string][]) {
  test(`the model finds the mistake: ${title}`, (t) => {
    const { isCaught, runs, found } = runUntilCaught(REAL_CORE, mistake);
    assert.ok(isCaught, `not found in ${runs} runs`);
    t.diagnostic(`${title}: found in run ${runs}: ${found}`);
  });
}
