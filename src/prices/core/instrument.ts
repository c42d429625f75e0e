import type { PriceProblem } from '../../observe/events.ts';
import type { InstrumentTerms } from '../../records/avro/instrument-terms.ts';
import type { WordRows } from '../../support/id-rows.ts';
import type { PriceKind } from '../bulk-prices.ts';

export type InstrumentNews =
  | { readonly kind: 'live'; readonly isin: string | null; readonly terms: InstrumentTerms }
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'unreadable';
      readonly key: string | null;
      readonly value: Buffer;
      readonly reason: string;
      /** The schema that the registry had not when it was asked, where that is why. */
      readonly missingSchemaId?: number;
    };

/** The topic shows: perhaps a price of an earlier isin; at most a price of this one; or nothing, after a tombstone. */
export type Shown = (typeof SHOWN)[number];

const SHOWN = ['unproven', 'own', 'nothing'] as const;
/** Times are kept in tenths of a second, rounded down: 32 bits of them last for six years. */
const UNIT_MS = 100;
/** Windows are answered up to a moment in whole minutes, rounded down: 32 bits of them last for ever. */
const ANSWERED_UNIT_MS = 60_000;
const SHOWN_BITS = 0b0011;
const PULLED = 0b0100;
const PRICED = 0b1000;
/** The words of an instrument for one kind, and one more where its prices have windows. */
const FLAGS = 0;
const SINCE = 1;
const ANSWERED = 2;
export const NO_TROUBLE: Trouble = { failures: 0, problem: null };

export interface Trouble {
  /** In a row. */
  readonly failures: number;
  readonly problem: PriceProblem | null;
}

export interface PlanColumns {
  readonly kind: PriceKind;
  readonly words: WordRows;
  readonly firstWord: number;
  /** Of the few that have any, by row. */
  readonly troubles: Map<number, Trouble>;
}

export function planWidth(kind: PriceKind): number {
  return kind === 'overview' ? ANSWERED : ANSWERED + 1;
}

/** The state of an instrument for one kind: a view of its row. Times are monotonic milliseconds. */
export class RefreshPlan {
  readonly #columns: PlanColumns;
  readonly row: number;

  constructor(columns: PlanColumns, row: number) {
    this.#columns = columns;
    this.row = row;
  }

  get kind(): PriceKind {
    return this.#columns.kind;
  }

  get isPriced(): boolean {
    return (this.#get(FLAGS) & PRICED) !== 0;
  }

  set isPriced(isPriced: boolean) {
    this.#setFlag(PRICED, isPriced);
  }

  /** When it was priced; before that, when it came into the table. */
  get sinceMs(): number {
    return this.#get(SINCE) * UNIT_MS;
  }

  set sinceMs(ms: number) {
    this.#set(SINCE, Math.floor(ms / UNIT_MS));
  }

  /** Up to when its windows are answered, by the provider's clock: milliseconds since the epoch. */
  get answeredMs(): number {
    return this.kind === 'overview' ? 0 : this.#get(ANSWERED) * ANSWERED_UNIT_MS;
  }

  set answeredMs(ms: number) {
    if (this.kind !== 'overview') this.#set(ANSWERED, Math.floor(ms / ANSWERED_UNIT_MS));
  }

  get pulled(): boolean {
    return (this.#get(FLAGS) & PULLED) !== 0;
  }

  set pulled(pulled: boolean) {
    this.#setFlag(PULLED, pulled);
  }

  get shown(): Shown {
    return SHOWN[this.#get(FLAGS) & SHOWN_BITS] as Shown;
  }

  set shown(shown: Shown) {
    this.#set(FLAGS, (this.#get(FLAGS) & ~SHOWN_BITS) | SHOWN.indexOf(shown));
  }

  get trouble(): Trouble {
    return this.#columns.troubles.get(this.row) ?? NO_TROUBLE;
  }

  set trouble(trouble: Trouble) {
    if (trouble.problem === null) this.#columns.troubles.delete(this.row);
    else this.#columns.troubles.set(this.row, trouble);
  }

  get problem(): PriceProblem | null {
    return this.trouble.problem;
  }

  reset(sinceMs: number): void {
    this.#set(FLAGS, 0);
    this.trouble = NO_TROUBLE;
    this.sinceMs = sinceMs;
  }

  #get(word: number): number {
    return this.#columns.words.get(this.row, this.#columns.firstWord + word);
  }

  #set(word: number, value: number): void {
    this.#columns.words.set(this.row, this.#columns.firstWord + word, value);
  }

  #setFlag(flag: number, isSet: boolean): void {
    const flags = this.#get(FLAGS);
    this.#set(FLAGS, isSet ? flags | flag : flags & ~flag);
  }
}

/**
 * An instrument of the table with the isin that it is asked for by. Another isin makes another instrument of it, also
 * under the same id: `InstrumentTable.holds` says that the old one no longer counts.
 */
export interface AskedInstrument {
  readonly id: string;
  readonly isin: string;
  readonly terms: InstrumentTerms;
  readonly row: number;
  /** No other instrument of the table has or had it. */
  readonly version: number;
  /** The id had another isin before, as far as this process knows. */
  readonly isinChanged: boolean;
  readonly plans: readonly RefreshPlan[];
}

/** Times and failures outlive the writer, however often it was opened meanwhile. */
export function carryOver(from: AskedInstrument, to: AskedInstrument): void {
  for (const [at, { isPriced, sinceMs, answeredMs, pulled, trouble }] of from.plans.entries()) {
    const plan = to.plans[at];
    if (plan === undefined) continue;
    // Another replica may have answered its windows meanwhile, as the committed mark says.
    const untilMs = trouble.problem === null ? Math.max(answeredMs, plan.answeredMs) : answeredMs;
    Object.assign(plan, { isPriced, sinceMs, answeredMs: untilMs, pulled, trouble });
  }
}

export function planOf({ plans }: AskedInstrument, wanted: PriceKind): RefreshPlan {
  const plan = plans.find(({ kind }) => kind === wanted);
  if (plan === undefined) throw new RangeError(`The instrument is not asked for ${wanted}.`);
  return plan;
}
