import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CoreMutant } from '../core-mutants.ts';
import type { ProcessorModules } from './processor-world.ts';

const SOURCES = resolve(import.meta.dirname, '../../../src');

/** Loads a copy of the processor's core with the mistake in it; the copy is removed at once. */
export async function loadProcessorMutant({ mistake, file, right, wrong }: CoreMutant): Promise<ProcessorModules> {
  const folder = mkdtempSync(join(tmpdir(), 'processor-mutant-'));
  try {
    cpSync(join(SOURCES, 'processor/core'), folder, { recursive: true });
    for (const name of globSync('*.ts', { cwd: folder })) {
      const text = readFileSync(join(folder, name), 'utf8');
      const parts = name === file ? text.split(right) : [text];
      if (name === file && parts.length !== 2) {
        throw new Error(`The mistake "${mistake}" fits ${parts.length - 1} places of ${file}; it must fit one.`);
      }
      writeFileSync(join(folder, name), parts.join(wrong).replaceAll("'../../", `'${pathToFileURL(SOURCES)}/`));
    }
    const load = (name: string) => import(pathToFileURL(join(folder, name)).href);
    const { PartitionCore } = await load('partition-core.ts');
    const { ReportedFailures } = await load('reported-failures.ts');
    return { PartitionCore, ReportedFailures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Mistakes that the model must find. */
export const PROCESSOR_MUTANTS: readonly CoreMutant[] = [
  {
    mistake: 'the answer of an old isin is used',
    file: 'batch-results.ts',
    right: "if (!holds(instrument)) return { kind: 'dropped' };",
    wrong: '',
  },
  {
    mistake: 'the answer for an instrument that has left is used',
    file: 'instrument-table.ts',
    right: 'return this.#words.get(row, VERSION) === version;',
    wrong: 'const held = this.#words.get(row, VERSION); return held === 0 || held === version;',
  },
  {
    mistake: 'the offset is committed beyond an unanswered record of a later batch',
    file: 'input-lane.ts',
    right: 'const waiting = this.#open.flatMap(({ batch, takenInputs }) => batch.inputs.slice(takenInputs));',
    wrong: 'const waiting: BatchInput[] = [];',
  },
  {
    mistake: 'the offset is committed beyond an unanswered record that waits',
    file: 'partition-core.ts',
    right: '(this.#inputs.firstUnanswered() ?? this.#position)',
    wrong: 'this.#position',
  },
  {
    mistake: 'batches of records commit as they are answered',
    file: 'input-lane.ts',
    right: 'if (open.takenInputs < open.batch.inputs.length) break;\n      this.#open.shift();',
    wrong:
      'if (open.takenInputs < open.batch.inputs.length) continue;\n      this.#open.splice(this.#open.indexOf(open), 1);',
  },
  {
    mistake: 'a later record of an id keeps the place of the earlier one',
    file: 'input-queue.ts',
    right: 'this.#inputs.delete(input.id);\n    this.#inputs.set',
    wrong: 'this.#inputs.set',
  },
  {
    mistake: 'a superseded record is forgotten',
    file: 'input-queue.ts',
    right: '...(earlier?.offsets ?? []), ',
    wrong: '',
  },
  {
    mistake: 'a record whose answer comes too late is forgotten',
    file: 'input-lane.ts',
    right: 'isStale ? asked.input : null',
    wrong: 'null',
  },
  {
    mistake: 'a failure of a record is no dead letter',
    file: 'batch-results.ts',
    right: 'offsets.length > 0 || !reported.has',
    wrong: '!reported.has',
  },
  {
    mistake: 'the price of an earlier isin stays where the new one has none',
    file: 'withdrawal.ts',
    right: '      return withdrawalUnanswered(instrument, plan);',
    wrong: '      return null;',
  },
  {
    mistake: 'the price of an earlier isin stays for as long as nothing is answered',
    file: 'withdrawal.ts',
    right: "return isinChanged ? 'isin-changed' : 'no-price';",
    wrong: 'return null;',
  },
  {
    mistake: 'records wait for an answer for ever',
    file: 'input-lane.ts',
    right: 'return this.#lane.refreshes.adopted < BATCHES_IN_FLIGHT ? this.#answerWithinMs : this.#lingerMs;',
    wrong: 'return Number.POSITIVE_INFINITY;',
  },
  {
    mistake: 'a record that supersedes another begins to wait again',
    file: 'input-queue.ts',
    right: 'superseded?.waitsSinceMs ?? earlier?.waitsSinceMs ?? input.waitsSinceMs',
    wrong: 'input.waitsSinceMs',
  },
  {
    mistake: 'only what waits in the queue is answered without its price',
    file: 'input-lane.ts',
    right: 'if (at < overdue.batches) this.#postpone(open);',
    wrong: '',
  },
  {
    mistake: 'what is owed waits for the slot of its instrument',
    file: 'kind-lane.ts',
    right: 'if (mayRefresh && !this.isInFlight(instrument.id)) this.schedule(instrument, nowMs);',
    wrong: '',
  },
  {
    mistake: 'what is owed and on its way is superseded',
    file: 'input-lane.ts',
    right: '      this.#lane.putInFlight(one.input.id, null);\n    }',
    wrong: '    }',
  },
  {
    mistake: 'time in which a commit takes long counts as waiting for the provider',
    file: 'partition-core.ts',
    right: 'this.#commitsMs += nowMs - (this.#commitBeganMs ?? nowMs);',
    wrong: '',
  },
  {
    mistake: 'a price goes for a failure that may pass',
    file: 'withdrawal.ts',
    right: "return DEFINITE.includes(problem) || isSilent ? 'no-price' : null;",
    wrong: "return 'no-price';",
  },
  {
    mistake: 'that there is no price is said with every refresh',
    file: 'kind-lane.ts',
    right: "if (withdrawal !== null) plan.shown = 'nothing';",
    wrong: '',
  },
  {
    mistake: 'each failure of a refresh is a dead letter',
    file: 'kind-lane.ts',
    right: 'reported.add(kind, instrument.id, problem);',
    wrong: '',
  },
  {
    mistake: 'an instrument is asked for twice at once',
    file: 'input-lane.ts',
    right: 'if (this.#lane.isInFlight(id)) return false;',
    wrong: '',
  },
  {
    mistake: 'an instrument is asked for again before its answer is committed',
    file: 'partition-core.ts',
    right: '    lane.answered(batch, from, answers);',
    wrong:
      '    if (lane !== this.#inputs) for (const { id } of batch.questions) this.#lane(batch).release(id);\n    lane.answered(batch, from, answers);',
  },
  {
    mistake: 'an isin stands twice in a batch',
    file: 'input-lane.ts',
    right: 'if (isAlone || isins.has(instrument.isin)) return false;',
    wrong: 'if (isAlone) return false;',
  },
  {
    mistake: 'a priced instrument is never refreshed',
    file: 'kind-lane.ts',
    right:
      'if (mayRefresh) this.schedule(instrument, slots.nextAfterAnswer(this.#table.hashAt(instrument.row), nowMs));',
    wrong: 'if (mayRefresh) this.schedule(instrument, Number.POSITIVE_INFINITY);',
  },
  {
    mistake: 'a failing instrument is never asked for again',
    file: 'kind-lane.ts',
    right: 'if (mayRefresh) this.schedule(instrument, dueMs);',
    wrong: 'if (mayRefresh) this.schedule(instrument, Number.POSITIVE_INFINITY);',
  },
  {
    mistake: 'the instruments of the table are not refreshed after a start',
    file: 'partition-core.ts',
    right: 'for (const row of table.rows()) lane.scheduleInSlot(row, nowMs);',
    wrong: '',
  },
  {
    mistake: 'an instrument that has left stays in the table',
    file: 'partition-core.ts',
    right: '    this.#table.delete(id);\n',
    wrong: '',
  },
  {
    mistake: 'all instruments are due for a refresh at a start',
    file: 'partition-core.ts',
    right: 'lane.scheduleInSlot(row, nowMs);',
    wrong: 'lane.schedule(table.at(row), nowMs);',
  },
  {
    mistake: 'what is in flight for one kind holds up another',
    file: 'kind-lane.ts',
    right: '    this.#table = table;\n',
    wrong: '    this.#table = table;\n    this.#inFlight = (table as any).inFlight ??= new Map();\n',
  },
  {
    mistake: 'kinds share a transaction',
    file: 'partition-core.ts',
    right: 'const batches = [...inputs, ...(lane?.refreshes.takeAnswered() ?? [])];',
    wrong: 'const batches = [...inputs, ...this.#lanes.flatMap((each) => each.refreshes.takeAnswered())];',
  },
  {
    mistake: 'a part of the records of a batch is committed before those in front of it',
    file: 'input-lane.ts',
    right: 'if (outcome === undefined && !postponed) break;',
    wrong: '',
  },
  {
    mistake: 'what was answered of a refresh waits for the rest of its batch',
    file: 'refresh-batches.ts',
    right: 'for (const { part } of this.#answered) {',
    wrong:
      'for (const { batch, part } of this.#answered) {\n      if (part.questions.length < batch.questions.length) break;',
  },
  {
    mistake: 'one that spoilt a call shares the next one again',
    file: 'kind-lane.ts',
    right: '(plan.suspicion > 0 ? this.#dueAlone : this.#due).put(plan.row, dueMs);',
    wrong: 'this.#due.put(plan.row, dueMs);',
  },
  {
    mistake: 'a record of one that spoilt a call shares the next one again',
    file: 'input-lane.ts',
    right: 'isAlone = this.#lane.isSuspect(instrument);',
    wrong: 'isAlone = false;',
  },
  {
    mistake: 'one that spoilt a call is forgiven at its first answer',
    file: 'kind-lane.ts',
    right: 'this.#suspect(plan, Math.max(0, plan.suspicion - 1));',
    wrong: 'this.#suspect(plan, 0);',
  },
  {
    mistake: 'another instrument of an id is forgotten when it was due while the earlier one was in flight',
    file: 'partition-core.ts',
    right: 'if (instrument && !lane.isScheduled(instrument) && this.#mayRefresh(lane, instrument)) {',
    wrong: 'if (false) {',
  },
  {
    mistake: 'each instrument has a moment of its own',
    file: 'refresh-slots.ts',
    right: '(this.#of(hash) * this.#intervalMs) / this.#count',
    wrong: '(hash % this.#intervalMs)',
  },
  {
    mistake: 'all slots are at the same time',
    file: 'refresh-slots.ts',
    right: '(this.#of(hash) * this.#intervalMs) / this.#count',
    wrong: '0',
  },
  {
    mistake: 'the slots are not as many as are needed',
    file: 'refresh-slots.ts',
    right: 'if (slots !== this.#count || ',
    wrong: 'if (false && ',
  },
];
