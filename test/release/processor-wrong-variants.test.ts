import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type CoreMutant, withMistake } from '../simulation/core-mutants.ts';
import { modelSeed } from '../simulation/model-runs.ts';
import { runProcessorScenario } from '../simulation/processor/processor-run.ts';
import { processorScenarios } from '../simulation/processor/processor-scenario.ts';
import { type ProcessorModules, REAL_PROCESSOR } from '../simulation/processor/processor-world.ts';
import { answerAll, coreSettings, proceed } from '../support/priced-core.ts';

const INSTRUMENTS = 2_000;
const MAX_ITEMS = 500;
const REFRESH_MS = 60_000;
const STEP_MS = 500;
/** Until a price is committed. */
const ANSWER_MS = 1_000;

/** Asks of a core over a full table, as after a restart, for some time; the provider answers after a moment. */
function refreshesAfterStart(
  { PartitionCore, ReportedFailures }: ProcessorModules,
  { startMs, forMs, instruments = INSTRUMENTS }: { startMs: number; forMs: number; instruments?: number },
): { readonly atMs: number; readonly ids: readonly string[] }[] {
  const table = Array.from({ length: instruments }, (_, id) => [String(id * 7), `isin-${id}`] as const);
  const settings = coreSettings({
    kinds: [{ kind: 'overview', refreshIntervalMs: REFRESH_MS }],
    lingerMs: 250,
    maxItems: () => MAX_ITEMS,
    wallMs: () => 1_000_000_000_000.4,
    reported: new ReportedFailures(),
  });
  const core = new PartitionCore(settings, { offset: 10n, instruments: table, phase: 0.3 }, startMs);
  const calls: { atMs: number; ids: readonly string[] }[] = [];
  const answers: { atMs: number; give: () => void }[] = [];
  for (let nowMs = startMs; nowMs < startMs + forMs; nowMs += STEP_MS) {
    while ((answers[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) answers.shift()?.give();
    proceed(core, nowMs, (batch) => {
      calls.push({ atMs: nowMs, ids: batch.questions.map(({ id }) => id) });
      answers.push({ atMs: nowMs + ANSWER_MS, give: () => answerAll(core, batch) });
    });
  }
  return calls;
}

/** Nothing of a full table is urgent: each instrument comes once in an interval, in as few calls as can be, spread over it. */
function startViolations(modules: ProcessorModules, startMs: number): string[] {
  const violations: string[] = [];
  const intervals = 3;
  const calls = refreshesAfterStart(modules, { startMs, forMs: REFRESH_MS * intervals });
  const asked = new Map<string, number[]>();
  for (const { atMs, ids } of calls) for (const id of ids) asked.set(id, [...(asked.get(id) ?? []), atMs]);
  const most = (INSTRUMENTS / MAX_ITEMS) * intervals;
  if (calls.length > most) violations.push(`${calls.length} calls, where ${most} would do`);
  if (calls[1] && calls[1].atMs - (calls[0]?.atMs ?? 0) < REFRESH_MS / 5) violations.push('calls come together');
  if (asked.size < INSTRUMENTS) violations.push(`${INSTRUMENTS - asked.size} were never asked for`);
  for (const [id, times] of asked) {
    const gaps = times.slice(1).map((ms, at) => ms - (times[at] ?? 0));
    const first = (times[0] ?? 0) - startMs;
    if (first > REFRESH_MS || gaps.some((ms) => ms > REFRESH_MS + 2 * STEP_MS)) violations.push(`${id} comes too late`);
    if (gaps.some((ms) => ms < REFRESH_MS - 2 * STEP_MS)) violations.push(`${id} comes twice within an interval`);
    if (violations.length > 3) break;
  }
  return violations;
}

function loadProcessorMutant(mutant: CoreMutant): Promise<ProcessorModules> {
  return withMistake(mutant, ['prices/core'], async (load) => {
    const { PartitionCore } = await load('core/partition-core.ts');
    const { ReportedFailures } = await load('core/core-messages.ts');
    const { CallQueue } = await load('core/call-queue.ts');
    return { PartitionCore, ReportedFailures, CallQueue };
  });
}

/** By file: mistakes that the model must find, each an edit of the source. */
const MISTAKES: Readonly<Record<string, Readonly<Record<string, readonly [right: string, wrong: string]>>>> = {
  'partition-core.ts': {
    'the answer of an old isin is used': [
      "if (outcome.kind === 'dropped' || !holds(instrument)) return { kind: 'dropped' };",
      "if (outcome.kind === 'dropped') return { kind: 'dropped' };",
    ],
    'the offset is committed beyond an unanswered record that waits': [
      '(this.#inputs.firstUnanswered() ?? this.#position)',
      'this.#position',
    ],
    'a failure of a record is no dead letter': ['offsets.length > 0 || !reported.has', '!reported.has'],
    'the price of an earlier isin stays where the new one has none': [
      '      return withdrawalUnanswered(instrument, plan);',
      '      return null;',
    ],
    'the price of an earlier isin stays for as long as nothing is answered': [
      "return isinChanged ? 'isin-changed' : 'no-price';",
      'return null;',
    ],
    'time in which a commit takes long counts as waiting for the provider': [
      'this.#commitsMs += nowMs - (this.#commitBeganMs ?? nowMs);',
      '',
    ],
    'a price goes for a failure that may pass': [
      "return isDefinite && saysThatThereIsNone(problem) ? 'no-price' : null;",
      "return 'no-price';",
    ],
    'each failure of a refresh is a dead letter': [
      'this.#settings.reported.add(lane.kind, instrument.id, result.problem)',
      '{}',
    ],
    'an instrument is asked for again before its answer is committed': [
      '    lane.answered(batch, positions, outcomes);',
      '    if (lane !== this.#inputs) for (const { id } of batch.questions) this.#lane(batch).release(id);\n    lane.answered(batch, positions, outcomes);',
    ],
    'the instruments of the table are not refreshed after a start': [
      'for (const row of table.rows()) lane.scheduleInSlot(row, nowMs);',
      '',
    ],
    'an instrument that has left stays in the table': ['    this.#table.delete(id);\n', ''],
    'all instruments are due for a refresh at a start': [
      'lane.scheduleInSlot(row, nowMs);',
      'lane.schedule(table.at(row), nowMs);',
    ],
    'kinds share a transaction': [
      'const batches = [...inputs, ...(lane?.refreshes.takeAnswered() ?? [])];',
      'const batches = [...inputs, ...this.#lanes.flatMap((each) => each.refreshes.takeAnswered())];',
    ],
    'another instrument of an id is forgotten when it was due while the earlier one was in flight': [
      'if (instrument && !lane.isScheduled(instrument) && this.#mayRefresh(lane, instrument)) {',
      'if (false) {',
    ],
  },
  'instrument-table.ts': {
    'the answer for an instrument that has left is used': [
      'return this.#words.get(row, VERSION) === version;',
      'const held = this.#words.get(row, VERSION); return held === 0 || held === version;',
    ],
  },
  'input-lane.ts': {
    'the offset is committed beyond an unanswered record of a later batch': [
      'const [first] = this.#waiting();',
      'const first = this.#first;',
    ],
    'batches of records commit as they are answered': [
      'if (open.takenInputs < open.batch.inputs.length) break;\n      this.#open.shift();',
      'if (open.takenInputs < open.batch.inputs.length) continue;\n      this.#open.splice(this.#open.indexOf(open), 1);',
    ],
    'a later record of an id keeps the place of the earlier one': [
      'this.#queue.delete(id);\n    this.#queue.set',
      'this.#queue.set',
    ],
    'a superseded record is forgotten': ['...(earlier?.offsets ?? []), ', ''],
    'a record whose answer comes too late is forgotten': ['isStale ? asked.input : null', 'null'],
    'records wait for an answer for ever': [
      'return this.#lane.refreshes.adopted < BATCHES_IN_FLIGHT ? this.#settings.answerWithinMs : this.#settings.lingerMs;',
      'return Number.POSITIVE_INFINITY;',
    ],
    'a record that supersedes another begins to wait again': [
      'superseded?.waitsSinceMs ?? earlier?.waitsSinceMs ?? input.waitsSinceMs',
      'input.waitsSinceMs',
    ],
    'only what waits in the queue is answered without its price': [
      'if (at < overdue.batches) this.#postpone(open);',
      '',
    ],
    'what is owed and on its way is superseded': ['      this.#lane.putInFlight(one.input.id, null);\n    }', '    }'],
    'an instrument is asked for twice at once': [' || this.#lane.isInFlight(id)', ''],
    'an isin stands twice in a batch': ['isins.size < isins.add(isin).size', 'isins.size <= isins.add(isin).size'],
    'a part of the records of a batch is committed before those in front of it': [
      'if (outcome === undefined && !postponed) break;',
      '',
    ],
  },
  'kind-lane.ts': {
    'what is owed waits for the slot of its instrument': [
      'if (mayRefresh && !this.isInFlight(instrument.id)) this.schedule(instrument, nowMs);',
      '',
    ],
    'that there is no price is said with every refresh': ["if (withdrawal !== null) plan.shown = 'nothing';", ''],
    'a priced instrument is never refreshed': [
      'if (mayRefresh) this.schedule(instrument, nextMs);',
      'if (mayRefresh) this.schedule(instrument, Number.POSITIVE_INFINITY);',
    ],
    'a failing instrument is never asked for again': [
      'if (mayRefresh) this.schedule(instrument, dueMs);',
      'if (mayRefresh) this.schedule(instrument, Number.POSITIVE_INFINITY);',
    ],
    'what is in flight for one kind holds up another': [
      '    this.#table = table;\n',
      '    this.#table = table;\n    this.#inFlight = (table as any).inFlight ??= new Map();\n',
    ],
    'each instrument has a moment of its own': [
      '(this.#of(hash) * this.#intervalMs) / this.#count',
      '(hash % this.#intervalMs)',
    ],
    'all slots are at the same time': ['(this.#of(hash) * this.#intervalMs) / this.#count', '0'],
    'the slots are not as many as are needed': ['if (slots !== this.#count || ', 'if (false && '],
  },
  'batch.ts': {
    'what was answered of a refresh waits for the rest of its batch': [
      'for (const { part } of this.#answered) {',
      'for (const { batch, part } of this.#answered) {\n      if (part.questions.length < batch.questions.length) break;',
    ],
  },
  'call-queue.ts': {
    'a call that gets 503 is never divided': [
      '    const { kind, events, ended } = this.#options;\n    const [first] = asked;',
      '    const { kind, events, ended } = this.#options;\n    const [first] = asked;\n    if (error.fields.status === 503) return void this.#suspected.push({ asked, failures: 1, callsBefore: this.#calls, sinceMs: nowMs, partOf: null });',
    ],
    'a call that failed twice is divided although nothing was answered in between': [
      'failures > 1 && this.#answered > callsBefore',
      'failures > 1',
    ],
    'a call that failed is repeated although nothing was answered since': [
      'this.#waiting.push(failed);\n    }',
      'this.#suspected.push(failed.group);\n    }',
    ],
    'while nothing is answered, nothing asks whether it is over': [
      'this.#waiting.length > 0 && this.#inFlight.probe === 0 && nowMs',
      'false && nowMs',
    ],
    'the question that asks whether it is over is also repeated with its group': [
      'from.group.asked.filter((other) => other !== one)',
      'from.group.asked',
    ],
    'what has left is asked again': [
      'const unwanted = group.asked.filter((one) => !one.isWanted());',
      'const unwanted: One[] = [];',
    ],
    'Retry-After is not waited for': ['if (nowMs < this.#pausedUntilMs) return null;', ''],
    'one that spoilt a call shares the next one again': [
      'const isKnown = ({ question }: One) => this.#answersNeeded.has(question.isin);',
      'const isKnown = (_: One) => false;',
    ],
    'one that spoilt a call is forgiven at its first answer': ['if (needed > 1) this', 'if (false) this'],
  },
};

const PROCESSOR_MUTANTS: readonly CoreMutant[] = Object.entries(MISTAKES).flatMap(([file, mistakes]) =>
  Object.entries(mistakes).map(([mistake, [right, wrong]]) => ({ mistake, file, right, wrong })),
);

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
