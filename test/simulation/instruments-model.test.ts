import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { modelRuns, modelSeed } from './model-runs.ts';
import { runScenario } from './model-world.ts';
import { busyWalks, rareScenarios, replacedTopics, replicasBehind, scenarios, slowLists } from './scenario.ts';

test('nor in states that need several things in one order', () => {
  const property = fc.property(rareScenarios, (scenario) => {
    assert.deepEqual(runScenario(scenario).violations, []);
  });
  fc.assert(property, { numRuns: Math.ceil(modelRuns() / 8), seed: modelSeed() });
});

test('nor where the stream goes on while the list takes long', () => {
  const property = fc.property(slowLists, (scenario) => {
    assert.deepEqual(runScenario(scenario).violations, []);
  });
  fc.assert(property, { numRuns: Math.ceil(modelRuns() / 4), seed: modelSeed() });
});

test('nor in walks whose pages and drains are asked for ahead', () => {
  const property = fc.property(busyWalks, (scenario) => {
    assert.deepEqual(runScenario(scenario).violations, []);
  });
  fc.assert(property, { numRuns: Math.ceil(modelRuns() / 8), seed: modelSeed() });
});

test('nor where its topic is deleted and created again', () => {
  const property = fc.property(replacedTopics, (scenario) => {
    assert.deepEqual(runScenario(scenario).violations, []);
  });
  fc.assert(property, { numRuns: Math.ceil(modelRuns() / 8), seed: modelSeed() });
});

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

test('nor where a replica answers for a while that is behind', () => {
  const property = fc.property(replicasBehind, (scenario) => {
    assert.deepEqual(runScenario(scenario).violations, []);
  });
  fc.assert(property, { numRuns: Math.ceil(modelRuns() / 4), seed: modelSeed() });
});
