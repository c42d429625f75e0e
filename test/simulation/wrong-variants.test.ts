import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CORE_MUTANTS, loadMutant } from './core-mutants.ts';
import { type CoreModules, type LapMistake, REAL_CORE } from './model-core.ts';
import { modelSeed } from './model-runs.ts';
import { runScenario } from './model-world.ts';
import { busyWalks, onlyLogsBehind, rareScenarios, replacedTopics, replicasBehind, scenarios } from './scenario.ts';

/**
 * The run of seed 1 that finds a mistake: it is tried first, so that the others need not be searched through each time.
 * One that no longer finds it costs a search, which says which run does now. `among`: which of the other scenarios; by default the usual ones.
 */
interface FoundBy {
  readonly run: number;
  readonly among?: 'rare' | 'busyWalks' | 'replacedTopics' | 'replicasBehind' | 'onlyLogsBehind';
}

const FOUND_BY: Readonly<Record<string, FoundBy>> = {
  'a row wins over a newer event': { run: 4 },
  'touched begins after the margin': { run: 4 },
  'an answer that is not full is the end': { run: 1 },
  'a drain ends with an answer that is not full': { run: 1805 },
  'a page is not drained at all': { run: 21 },
  'a page is used after half a minute, whatever of the stream is still to be read': { run: 13, among: 'busyWalks' },
  'the first page is asked for before the margin has passed': { run: 62 },
  'census minus seen after a crash': { run: 16 },
  'no commit on an empty answer': { run: 319 },
  'what events named since the walk began may be gone': { run: 4 },
  'a row that does not map is not seen': { run: 22 },
  'a row without a readable id does not matter': { run: 2574 },
  'the end of the list is not verified': { run: 3718 },
  'no final drain': { run: 95, among: 'replacedTopics' },
  'a list may shrink as it likes': { run: 4518 },
  'nothing in answer to an offset in doubt ends a drain': { run: 4051 },
  'a page is used while the log is behind': { run: 34, among: 'onlyLogsBehind' },
  'a row that contradicts what an event said lately is used all the same': { run: 12 },
  'a page that is older than all that is remembered corrects': { run: 503 },
  'a list that lags is trusted to say what is gone': { run: 268 },
  'unchanged rows are written again': { run: 1 },
  'events under an unmoved cursor are taken': { run: 10 },
  'a lower offset is followed': { run: 130 },
  'one refusal proves a gap': { run: 428 },
  'an offset that stands still is never replaced': { run: 34 },
  'a fresh offset replaces the committed one after gapProof': { run: 43 },
  'a drain ends at the first empty answer': { run: 17, among: 'rare' },
  'a wrong date hides a gap': { run: 27, among: 'rare' },
  'an offset that is only suspected is given up after gapProof though the log lags': { run: 163 },
  'a suspicion is forgotten by a restart': { run: 855 },
  'a lower offset is adopted in haste': { run: 11, among: 'replicasBehind' },
  'the time between two processes counts for a lower offset': { run: 50, among: 'replicasBehind' },
  'a list that lags is taken for a provider that is behind': { run: 56, among: 'replicasBehind' },
  'events that come again change instruments': { run: 34, among: 'replicasBehind' },
  'a walk deletes what a provider that is behind lacks': { run: 341, among: 'replicasBehind' },
  'a gap begins no walk': { run: 3 },
  'a topic that was replaced begins no walk': { run: 6, among: 'replacedTopics' },
  'the id of a replaced topic is not committed': { run: 1, among: 'replacedTopics' },
  'a walk that was resumed is not followed by a fresh one': { run: 1 },
  'the offset is read before fencing': { run: 74 },
  'the producer is used again after an unanswered commit': { run: 32 },
  'a writer opens again without proof that it still holds the partition': { run: 1 },
  'an absent links.next is taken as the end of the list': { run: 1255 },
  'the stream starts from the last page of the walk': { run: 3 },
  'a drain begins with a response that was asked for before the page arrived': { run: 6, among: 'busyWalks' },
  'a drain begins with a response that was asked for when the page arrived first, and was spoiled': {
    run: 389,
    among: 'busyWalks',
  },
};

/** A mistake that takes longer to show would slip through on most days. */
const MOST_RUNS = 8_000;

const OTHER_SCENARIOS = { rare: rareScenarios, busyWalks, replacedTopics, replicasBehind, onlyLogsBehind } as const;

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
  return { isCaught: failed, runs: numRuns, found: `${found} (FOUND_BY names run ${run})` };
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
