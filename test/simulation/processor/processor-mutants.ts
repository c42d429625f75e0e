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
    cpSync(join(SOURCES, 'prices/core'), folder, { recursive: true });
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
    const { ReportedFailures } = await load('core-messages.ts');
    const { CallQueue } = await load('call-queue.ts');
    return { PartitionCore, ReportedFailures, CallQueue };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Mistakes that the model must find. */
export const PROCESSOR_MUTANTS: readonly CoreMutant[] = [
  {
    mistake: 'the answer of an old isin is used',
    file: 'partition-core.ts',
    right: "if (outcome.kind === 'dropped' || !holds(instrument)) return { kind: 'dropped' };",
    wrong: "if (outcome.kind === 'dropped') return { kind: 'dropped' };",
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
    file: 'input-lane.ts',
    right: 'this.#queue.delete(id);\n    this.#queue.set',
    wrong: 'this.#queue.set',
  },
  {
    mistake: 'a superseded record is forgotten',
    file: 'input-lane.ts',
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
    file: 'partition-core.ts',
    right: 'offsets.length > 0 || !reported.has',
    wrong: '!reported.has',
  },
  {
    mistake: 'the price of an earlier isin stays where the new one has none',
    file: 'partition-core.ts',
    right: '      return withdrawalUnanswered(instrument, plan);',
    wrong: '      return null;',
  },
  {
    mistake: 'the price of an earlier isin stays for as long as nothing is answered',
    file: 'partition-core.ts',
    right: "return isinChanged ? 'isin-changed' : 'no-price';",
    wrong: 'return null;',
  },
  {
    mistake: 'records wait for an answer for ever',
    file: 'input-lane.ts',
    right:
      'return this.#lane.refreshes.adopted < BATCHES_IN_FLIGHT ? this.#settings.answerWithinMs : this.#settings.lingerMs;',
    wrong: 'return Number.POSITIVE_INFINITY;',
  },
  {
    mistake: 'a record that supersedes another begins to wait again',
    file: 'input-lane.ts',
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
    file: 'partition-core.ts',
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
    file: 'partition-core.ts',
    right: 'this.#settings.reported.add(lane.kind, instrument.id, result.problem)',
    wrong: '{}',
  },
  {
    mistake: 'an instrument is asked for twice at once',
    file: 'input-lane.ts',
    right: ' || this.#lane.isInFlight(id)',
    wrong: '',
  },
  {
    mistake: 'an instrument is asked for again before its answer is committed',
    file: 'partition-core.ts',
    right: '    lane.answered(batch, positions, outcomes);',
    wrong:
      '    if (lane !== this.#inputs) for (const { id } of batch.questions) this.#lane(batch).release(id);\n    lane.answered(batch, positions, outcomes);',
  },
  {
    mistake: 'an isin stands twice in a batch',
    file: 'input-lane.ts',
    right: 'isins.size < isins.add(isin).size',
    wrong: 'isins.size <= isins.add(isin).size',
  },
  {
    mistake: 'a priced instrument is never refreshed',
    file: 'kind-lane.ts',
    right: 'if (mayRefresh) this.schedule(instrument, nextMs);',
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
    file: 'batch.ts',
    right: 'for (const { part } of this.#answered) {',
    wrong:
      'for (const { batch, part } of this.#answered) {\n      if (part.questions.length < batch.questions.length) break;',
  },
  {
    mistake: 'a call that gets 503 is never divided',
    file: 'call-queue.ts',
    right: '    const { kind, events, ended } = this.#options;\n    const [first] = asked;',
    wrong:
      '    const { kind, events, ended } = this.#options;\n    const [first] = asked;\n    if (error.fields.status === 503) return void this.#suspected.push({ asked, failures: 1, answersBefore: this.#answers, sinceMs: nowMs, partOf: null });',
  },
  {
    mistake: 'a call that failed twice is divided although nothing was answered in between',
    file: 'call-queue.ts',
    right: 'failures > 1 && this.#answers > answersBefore',
    wrong: 'failures > 1',
  },
  {
    mistake: 'a call that failed is repeated although nothing was answered since',
    file: 'call-queue.ts',
    right: 'this.#waiting.push(failed);',
    wrong: 'this.#suspected.push(failed.group);',
  },
  {
    mistake: 'while nothing is answered, nothing asks whether it is over',
    file: 'call-queue.ts',
    right: 'this.#waiting.length > 0 && this.#inFlight.probe === 0 && nowMs',
    wrong: 'false && nowMs',
  },
  {
    mistake: 'the question that asks whether it is over is also repeated with its group',
    file: 'call-queue.ts',
    right: 'from.group.asked.filter((other) => other !== one)',
    wrong: 'from.group.asked',
  },
  {
    mistake: 'what has left is asked again',
    file: 'call-queue.ts',
    right: 'const unwanted = group.asked.filter((one) => !one.isWanted());',
    wrong: 'const unwanted: One[] = [];',
  },
  {
    mistake: 'Retry-After is not waited for',
    file: 'call-queue.ts',
    right: 'if (nowMs < this.#pausedUntilMs) return null;',
    wrong: '',
  },
  {
    mistake: 'one that spoilt a call shares the next one again',
    file: 'call-queue.ts',
    right: 'const isKnown = ({ question }: One) => this.#owed.has(question.isin);',
    wrong: 'const isKnown = (_: One) => false;',
  },
  {
    mistake: 'one that spoilt a call is forgiven at its first answer',
    file: 'call-queue.ts',
    right: 'if (owed > 1) this',
    wrong: 'if (false) this',
  },
  {
    mistake: 'another instrument of an id is forgotten when it was due while the earlier one was in flight',
    file: 'partition-core.ts',
    right: 'if (instrument && !lane.isScheduled(instrument) && this.#mayRefresh(lane, instrument)) {',
    wrong: 'if (false) {',
  },
  {
    mistake: 'each instrument has a moment of its own',
    file: 'kind-lane.ts',
    right: '(this.#of(hash) * this.#intervalMs) / this.#count',
    wrong: '(hash % this.#intervalMs)',
  },
  {
    mistake: 'all slots are at the same time',
    file: 'kind-lane.ts',
    right: '(this.#of(hash) * this.#intervalMs) / this.#count',
    wrong: '0',
  },
  {
    mistake: 'the slots are not as many as are needed',
    file: 'kind-lane.ts',
    right: 'if (slots !== this.#count || ',
    wrong: 'if (false && ',
  },
];
