import type { OutgoingRecord } from '../../kafka/record.ts';
import type { PriceProblem } from '../../observability/processor-events.ts';
import type { QuestionOutcome } from '../../processor/batch-responses.ts';
import type { BulkCaller } from '../../processor/bulk-caller.ts';
import type { PriceKind, PriceQuestion } from '../../processor/bulk-prices.ts';
import { NOTHING_ASKED } from '../../processor/core/batch.ts';
import { type CoreResult, problemOf } from '../../processor/core/core-messages.ts';
import type { AskedInstrument } from '../../processor/core/instrument.ts';
import { type PriceTargets, priceRecords } from '../../processor/price-records.ts';
import { BACKFILL } from '../../worker/target.ts';
import { opensWithin, type WindowRange } from './backfill-plan.ts';

export interface PageOptions {
  readonly kind: PriceKind;
  readonly caller: Pick<BulkCaller, 'ask'>;
  readonly targets: PriceTargets;
  /** Whether this failure of the page is not a dead letter yet; called once for each. */
  readonly isNews: (instrumentId: string, problem: PriceProblem) => boolean;
  /** Headers of its dead letters: the range that was asked for. */
  readonly deadLetterHeaders: Readonly<Record<string, string>>;
  readonly wallMs: number;
  readonly signal: AbortSignal;
}

export interface Page {
  readonly records: readonly OutgoingRecord[];
  readonly windows: number;
  readonly deadLetters: number;
  /** The instruments that failed and why, each as often as it did. */
  readonly failed: readonly { readonly isin: string; readonly problem: PriceProblem }[];
}

/** Asks for a part of the range of some instruments, and makes of the answers what the price processor would write. */
export async function askForPage(
  instruments: readonly AskedInstrument[],
  range: WindowRange,
  options: PageOptions,
): Promise<Page> {
  const pages: Page[] = [];
  for (const questions of withEachIsinOnce(instruments)) pages.push(await askAtOnce(questions, range, options));
  return {
    records: pages.flatMap(({ records }) => records),
    windows: pages.reduce((sum, { windows }) => sum + windows, 0),
    deadLetters: pages.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
    failed: pages.flatMap(({ failed }) => failed),
  };
}

export function questionOf({ id, isin, terms: { currency, priceType } }: AskedInstrument): PriceQuestion {
  return { instrumentId: id, isin, currency, priceType };
}

async function askAtOnce(
  instruments: readonly AskedInstrument[],
  range: WindowRange,
  options: PageOptions,
): Promise<Page> {
  const { kind, caller, targets, isNews, deadLetterHeaders, wallMs, signal } = options;
  const outcomes: QuestionOutcome[] = [];
  const questions = instruments.map(questionOf);
  await caller.ask(
    { kind, questions, isAlone: false },
    (from, answers) => {
      for (const [at, outcome] of answers.outcomes.entries()) outcomes[from + at] = outcome;
    },
    signal,
  );
  const results = instruments.map((instrument, at): CoreResult => {
    const outcome = outcomes[at];
    if (outcome === undefined) throw new RangeError('A page was answered with fewer outcomes than it had questions.');
    if (outcome.kind === 'prices') {
      const records = outcome.records.filter(({ key }) => opensWithin(String(key), range));
      return { kind: 'prices', instrument, answer: { ...outcome, records }, offsets: [] };
    }
    const problem = problemOf(outcome);
    const isDeadLetter = isNews(instrument.id, problem);
    return { kind: 'failure', instrument, outcome, problem, offsets: [], isDeadLetter, withdrawal: null };
  });
  const answers = { ...NOTHING_ASKED, outcomes };
  const part = { batch: { kind, questions: instruments, inputs: [], answers }, results };
  // No record of instruments is answered, so no place is named.
  const { records, report } = priceRecords(part, {
    input: { topic: '', partition: 0 },
    targets,
    windows: new Map(),
    wallMs,
    source: BACKFILL,
    deadLetterHeaders,
  });
  const failed = results.flatMap((result) =>
    result.kind === 'failure' ? [{ isin: result.instrument.isin, problem: result.problem }] : [],
  );
  return { records, windows: report.records, deadLetters: report.deadLetters, failed };
}

function withEachIsinOnce(instruments: readonly AskedInstrument[]): readonly (readonly AskedInstrument[])[] {
  const groups: Map<string, AskedInstrument>[] = [];
  for (const instrument of instruments) {
    const group = groups.find((one) => !one.has(instrument.isin));
    if (group === undefined) groups.push(new Map([[instrument.isin, instrument]]));
    else group.set(instrument.isin, instrument);
  }
  return groups.map((group) => [...group.values()]);
}
