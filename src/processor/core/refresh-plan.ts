import type { PriceProblem } from '../../observability/processor-events.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { WordRows } from './word-rows.ts';

/**
 * What the topic of prices shows of an instrument: perhaps a price of an earlier isin, as long as nothing is answered for
 * this one; at most a price of this isin; or nothing, since a tombstone was written.
 */
export type Shown = (typeof SHOWN)[number];

const SHOWN = ['unproven', 'own', 'nothing'] as const;
/** Times are kept in tenths of a second, rounded down: 32 bits of them last for six years. */
const UNIT_MS = 100;
const SHOWN_BITS = 0b0011;
const PULLED = 0b0100;
const PRICED = 0b1000;
/** Of the flags of one kind. */
export const PLAN_FLAG_BITS = 4;
/** What does not fail has none. */
const NO_TROUBLE: Trouble = { failures: 0, problem: null, suspicion: 0 };

interface Trouble {
  readonly failures: number;
  readonly problem: PriceProblem | null;
  readonly suspicion: number;
}

/** Where the plans of one kind are kept. */
export interface PlanColumns {
  readonly kind: PriceKind;
  readonly words: WordRows;
  readonly flagsWord: number;
  /** Of the lowest flag of this kind. */
  readonly flagsShift: number;
  readonly sinceWord: number;
  /** Of the few that have any, by row. */
  readonly troubles: Map<number, Trouble>;
}

/** What became of an instrument so far, for one kind: a view of its row in the table. Times are monotonic milliseconds. */
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

  /** Whether it has been priced in this process. */
  get isPriced(): boolean {
    return (this.#flags & PRICED) !== 0;
  }

  set isPriced(isPriced: boolean) {
    this.#setFlag(PRICED, isPriced);
  }

  /** When it was priced; before that, when it came into the table. */
  get sinceMs(): number {
    return this.#columns.words.get(this.row, this.#columns.sinceWord) * UNIT_MS;
  }

  set sinceMs(ms: number) {
    this.#columns.words.set(this.row, this.#columns.sinceWord, Math.floor(ms / UNIT_MS));
  }

  get pulled(): boolean {
    return (this.#flags & PULLED) !== 0;
  }

  set pulled(pulled: boolean) {
    this.#setFlag(PULLED, pulled);
  }

  get shown(): Shown {
    return SHOWN[this.#flags & SHOWN_BITS] as Shown;
  }

  set shown(shown: Shown) {
    this.#flags = (this.#flags & ~SHOWN_BITS) | SHOWN.indexOf(shown);
  }

  /** In a row. */
  get failures(): number {
    return this.#trouble.failures;
  }

  set failures(failures: number) {
    this.#trouble = { ...this.#trouble, failures };
  }

  get problem(): PriceProblem | null {
    return this.#trouble.problem;
  }

  set problem(problem: PriceProblem | null) {
    this.#trouble = { ...this.#trouble, problem };
  }

  /** Answers that it owes, each to a call for it alone, before it shares a call again: it has spoilt one. */
  get suspicion(): number {
    return this.#trouble.suspicion;
  }

  set suspicion(suspicion: number) {
    this.#trouble = { ...this.#trouble, suspicion };
  }

  /** It is of a new instrument. */
  reset(sinceMs: number): void {
    this.#flags = 0;
    this.#trouble = NO_TROUBLE;
    this.sinceMs = sinceMs;
  }

  get #flags(): number {
    const { words, flagsWord, flagsShift } = this.#columns;
    return (words.get(this.row, flagsWord) >> flagsShift) & (2 ** PLAN_FLAG_BITS - 1);
  }

  set #flags(flags: number) {
    const { words, flagsWord, flagsShift } = this.#columns;
    const others = words.get(this.row, flagsWord) & ~((2 ** PLAN_FLAG_BITS - 1) << flagsShift);
    words.set(this.row, flagsWord, others | (flags << flagsShift));
  }

  #setFlag(flag: number, isSet: boolean): void {
    this.#flags = isSet ? this.#flags | flag : this.#flags & ~flag;
  }

  get #trouble(): Trouble {
    return this.#columns.troubles.get(this.row) ?? NO_TROUBLE;
  }

  set #trouble(trouble: Trouble) {
    const { failures, problem, suspicion } = trouble;
    if (failures === 0 && problem === null && suspicion === 0) this.#columns.troubles.delete(this.row);
    else this.#columns.troubles.set(this.row, trouble);
  }
}
