import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { modelRuns, modelSeed } from './model-runs.ts';
import { runScenario } from './model-world.ts';
import {
  busyWalks,
  onlyLogsBehind,
  rareScenarios,
  replacedTopics,
  replicasBehind,
  scenarios,
  slowLists,
} from './scenario.ts';

test('whatever happens to it, the source loses nothing, repeats nothing, and comes right in the end', (t) => {
  const runs = modelRuns();
  const seed = modelSeed();
  const startedMs = performance.now();
  const totals = { transactions: 0, events: 0, rows: 0, tombstones: 0, gaps: 0 };
  const property = fc.property(scenarios, (scenario) => {
    const { violations, log } = runScenario(scenario);
    for (const { events, instruments, notifications } of log.visible()) {
      totals.transactions += 1;
      totals.events += events.length;
      totals.rows += instruments.filter(({ from }) => from === 'page').length;
      totals.tombstones += instruments.filter(({ from }) => from === 'sweep').length;
      totals.gaps += notifications.filter(({ kind }) => kind === 'gapProven' || kind === 'streamReset').length;
    }
    assert.deepEqual(violations, []);
  });
  // A failure names its seed and path: MODEL_SEED and MODEL_PATH replay it alone.
  const path = process.env.MODEL_PATH;
  fc.assert(property, { numRuns: runs, seed, ...(path !== undefined && { path }) });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  t.diagnostic(`${runs} runs with seed ${seed} in ${seconds} s: ${JSON.stringify(totals)}`);
  if (runs >= 1_000) for (const [what, count] of Object.entries(totals)) assert.ok(count > 0, `no ${what} at all`);
});

for (const [where, arbitrary, share] of [
  ['in states that need several things in one order', rareScenarios, 8],
  ['where the stream goes on while the list takes long', slowLists, 4],
  ['in walks whose pages and drains are asked for ahead', busyWalks, 8],
  ['where its topic is deleted and created again', replacedTopics, 8],
  ['where a replica answers for a while that is behind', replicasBehind, 4],
  ['where only the log of a replica is behind, and its list is current', onlyLogsBehind, 4],
] as const) {
  test(`nor ${where}`, () => {
    const property = fc.property(arbitrary, (scenario) => {
      assert.deepEqual(runScenario(scenario).violations, []);
    });
    fc.assert(property, { numRuns: Math.ceil(modelRuns() / share), seed: modelSeed() });
  });
}
