import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { modelRuns, modelSeed } from '../model-runs.ts';
import { runProcessorScenario } from './processor-run.ts';
import { processorScenarios } from './processor-scenario.ts';

test('whatever happens to it, the processor answers every record once, and never with another price', (t) => {
  const runs = modelRuns();
  const seed = modelSeed();
  const startedMs = performance.now();
  const totals: Record<string, number> = {};
  const property = fc.property(processorScenarios, (scenario) => {
    const { violations, counts } = runProcessorScenario(scenario);
    for (const [what, count] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + count;
    assert.deepEqual(violations, []);
  });
  const path = process.env.MODEL_PATH;
  fc.assert(property, { numRuns: runs, seed, ...(path !== undefined && { path }) });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  t.diagnostic(`${runs} runs with seed ${seed} in ${seconds} s: ${JSON.stringify(totals)}`);
  if (runs >= 1_000) for (const [what, count] of Object.entries(totals)) assert.ok(count > 0, `no ${what} at all`);
});
