import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { modelSeed } from '../simulation/model-runs.ts';
import { loadProcessorMutant, PROCESSOR_MUTANTS } from '../simulation/processor/processor-mutants.ts';
import { runProcessorScenario } from '../simulation/processor/processor-run.ts';
import { processorScenarios } from '../simulation/processor/processor-scenario.ts';
import { startViolations } from '../simulation/processor/processor-start.ts';
import { type ProcessorModules, REAL_PROCESSOR } from '../simulation/processor/processor-world.ts';

const MOST_RUNS = 4_000;

/** How many runs it takes, from 1, and what they found; 0 when the start alone shows it. */
function runUntilCaught(modules: ProcessorModules) {
  const [atStart] = startViolations(modules, 12_345);
  if (atStart !== undefined) return { isCaught: true, runs: 0, found: atStart };
  let found = '';
  const property = fc.property(processorScenarios, (scenario) => {
    found = runProcessorScenario(scenario, modules).violations[0] ?? '';
    return found === '';
  });
  const { failed, numRuns } = fc.check(property, { numRuns: MOST_RUNS, seed: modelSeed(), endOnFailure: true });
  return { isCaught: failed, runs: numRuns, found };
}

for (const mutant of PROCESSOR_MUTANTS) {
  test(`the processor's model finds the mistake: ${mutant.mistake}`, async (t) => {
    const { isCaught, runs, found } = runUntilCaught(await loadProcessorMutant(mutant));
    assert.ok(isCaught, `not found in ${runs} runs`);
    t.diagnostic(`${mutant.mistake}: found in run ${runs}: ${found}`);
  });
}

test('a restart over a full table spreads its questions over the interval, and asks each instrument once', () => {
  fcStarts((startMs) => assert.deepEqual(startViolations(REAL_PROCESSOR, startMs), []));
});

function fcStarts(holds: (startMs: number) => void): void {
  const starts = fc.double({ min: 0, max: 10_000_000, noNaN: true });
  fc.assert(fc.property(starts, holds), { numRuns: 20, seed: modelSeed() });
}
