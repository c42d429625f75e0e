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
      /** The id of the schema that the registry did not have; absent for other reasons. */
      readonly missingSchemaId?: number;
    };

/** The newest record on the prices topic: `unproven` (perhaps of an earlier isin), `own` (or none), `nothing` (a tombstone). */
export type Shown = (typeof SHOWN)[number];

const SHOWN = ['unproven', 'own', 'nothing'] as const;
/** Times are stored in tenths of a second, rounded down: 32 bits are enough for six years. */
const UNIT_MS = 100;
/** `answeredMs` is stored in whole minutes, rounded down: 32 bits are enough for 4,000 years. */
const ANSWERED_UNIT_MS = 60_000;
const SHOWN_BITS = 0b0011;
const PULLED = 0b0100;
const PRICED = 0b1000;
/** The positions of an instrument's integers for one kind of prices. Only a series has `ANSWERED`. */
const FLAGS = 0;
const SINCE = 1;
const ANSWERED = 2;
export const NO_TROUBLE: Trouble = { failures: 0, problem: null };

export interface Trouble {
  /** The number of consecutive failures. */
  readonly failures: number;
  readonly problem: PriceProblem | null;
}

export interface PlanColumns {
  readonly kind: PriceKind;
  readonly words: WordRows;
  readonly firstWord: number;
  /** The failures of each instrument by its row. Most instruments have no failures and no entry. */
  readonly troubles: Map<number, Trouble>;
}

export function planWidth(kind: PriceKind): number {
  return kind === 'overview' ? ANSWERED : ANSWERED + 1;
}

/** The state of an instrument for one kind, stored in its row. Times except `answeredMs` are monotonic milliseconds. */
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

  /** When the instrument was last priced. Before its first price: when it entered the table. */
  get sinceMs(): number {
    return this.#get(SINCE) * UNIT_MS;
  }

  set sinceMs(ms: number) {
    this.#set(SINCE, Math.floor(ms / UNIT_MS));
  }

  /** The moment up to which the windows are answered, in ms since 1970 by the provider's clock; 0 for the overview. */
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
 * An instrument of the table, with the isin that its requests use. An id that gets a new isin becomes a new instrument.
 * `InstrumentTable.holds` is then false for the earlier instrument.
 */
export interface AskedInstrument {
  readonly id: string;
  readonly isin: string;
  readonly terms: InstrumentTerms;
  readonly row: number;
  /** No other instrument of the table has or had this version. */
  readonly version: number;
  /** True if the id had another isin before, as far as this process knows. */
  readonly isinChanged: boolean;
  readonly plans: readonly RefreshPlan[];
}

/** Copies times and failures to the same instrument in the core of the next writer session. */
export function carryOver(from: AskedInstrument, to: AskedInstrument): void {
  for (const [at, { isPriced, sinceMs, answeredMs, pulled, trouble }] of from.plans.entries()) {
    const plan = to.plans[at];
    if (plan === undefined) continue;
    // Another replica may have requested windows meanwhile. Then the newly read `plan.answeredMs` is later.
    const untilMs = trouble.problem === null ? Math.max(answeredMs, plan.answeredMs) : answeredMs;
    Object.assign(plan, { isPriced, sinceMs, answeredMs: untilMs, pulled, trouble });
  }
}

export function planOf({ plans }: AskedInstrument, wanted: PriceKind): RefreshPlan {
  const plan = plans.find(({ kind }) => kind === wanted);
  if (plan === undefined) throw new RangeError(`Prices of the kind ${wanted} are not requested.`);
  return plan;
}
