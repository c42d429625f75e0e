import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CoreMutant } from './core-mutants.ts';
import type { ProcessorModules } from './processor-world.ts';

const SOURCES = resolve(import.meta.dirname, '../../src');

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
    const { ToldFailures } = await load('told-failures.ts');
    return { PartitionCore, ToldFailures };
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
    right: 'return this.#instruments.get(instrument.id) === instrument;',
    wrong: 'const held = this.#instruments.get(instrument.id); return held === undefined || held === instrument;',
  },
  {
    mistake: 'the offset is committed beyond an unanswered record of a later batch',
    file: 'partition-core.ts',
    right: 'const waiting = this.#inputBatches.slice(1).flatMap(({ inputs }) => inputs);',
    wrong: 'const waiting: BatchInput[] = [];',
  },
  {
    mistake: 'the offset is committed beyond an unanswered record that waits',
    file: 'partition-core.ts',
    right: 'return first?.offsets.at(-1) ?? this.#position;',
    wrong: 'return this.#position;',
  },
  {
    mistake: 'batches of records commit as they are answered',
    file: 'partition-core.ts',
    right: 'const [inputs] = this.#inputBatches;',
    wrong: 'const inputs = this.#inputBatches.find(({ answers }) => answers !== null);',
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
    right: 'const earlier = this.#inputs.get(input.id)?.offsets ?? [];',
    wrong: 'const earlier: bigint[] = [];',
  },
  {
    mistake: 'a record whose answer comes too late is forgotten',
    file: 'partition-core.ts',
    right: 'isStale ? asked.input.offsets : []',
    wrong: '[]',
  },
  {
    mistake: 'a failure of a record is no dead letter',
    file: 'batch-results.ts',
    right: 'offsets.length > 0 || !told.has',
    wrong: '!told.has',
  },
  {
    mistake: 'the price of an earlier isin stays where the new one has none',
    file: 'withdrawal.ts',
    right: "return plan.instrument.isinChanged ? 'isin-changed' : 'no-price';",
    wrong: 'return null;',
  },
  {
    mistake: 'a price goes for a failure that may pass',
    file: 'withdrawal.ts',
    right: "return DEFINITE.includes(problem) || isSilent ? 'no-price' : null;",
    wrong: "return 'no-price';",
  },
  {
    mistake: 'that there is no price is said with every refresh',
    file: 'partition-core.ts',
    right: "if (withdrawal !== null) plan.shown = 'nothing';",
    wrong: '',
  },
  {
    mistake: 'each failure of a refresh is a dead letter',
    file: 'partition-core.ts',
    right: 'told.add(kind, instrument.id, problem);',
    wrong: '',
  },
  {
    mistake: 'an instrument is asked for twice at once',
    file: 'partition-core.ts',
    right: 'if (this.#inFlight.has(id)) return false;',
    wrong: '',
  },
  {
    mistake: 'an instrument is asked for again before its answer is committed',
    file: 'partition-core.ts',
    right: '    batch.answers = answers;\n',
    wrong: '    batch.answers = answers;\n    for (const { id } of batch.questions) this.#inFlight.delete(id);\n',
  },
  {
    mistake: 'an isin stands twice in a batch',
    file: 'partition-core.ts',
    right: 'const isNew = !isins.has(meaning.instrument.isin);',
    wrong: 'const isNew = true;',
  },
  {
    mistake: 'a priced instrument is never refreshed',
    file: 'partition-core.ts',
    right: 'if (this.#mayRefresh(plan)) this.#table.scheduleInSlot(plan, nowMs);',
    wrong: '',
  },
  {
    mistake: 'a failing instrument is never asked for again',
    file: 'partition-core.ts',
    right: 'if (this.#mayRefresh(plan)) this.#table.scheduleAt(plan, nowMs + nextTryMs);',
    wrong: '',
  },
  {
    mistake: 'the instruments of the table are not refreshed after a start',
    file: 'partition-core.ts',
    right: "plan.shown = 'own';\n        this.#table.scheduleInSlot(plan, nowMs);",
    wrong: "plan.shown = 'own';",
  },
  {
    mistake: 'an instrument that has left stays in the table',
    file: 'partition-core.ts',
    right: '    this.#table.delete(id);\n',
    wrong: '',
  },
  {
    mistake: 'all instruments are due at a start',
    file: 'partition-core.ts',
    right: "plan.shown = 'own';\n        this.#table.scheduleInSlot(plan, nowMs);",
    wrong: "plan.shown = 'own';\n        this.#table.scheduleAt(plan, nowMs);",
  },
];
