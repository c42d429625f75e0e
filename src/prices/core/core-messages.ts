import type { PriceProblem } from '../../observe/events.ts';
import type { Random } from '../../support/back-off.ts';
import type { PriceKind, PriceResponse, QuestionOutcome } from '../bulk-prices.ts';
import type { Batch, BatchPart, UnpricedMeaning } from './batch.ts';
import type { AskedInstrument } from './instrument.ts';
import type { Repayment } from './price-state.ts';

export interface PartitionCoreSettings {
  /** The first one answers the records of instruments; the others only refresh. */
  readonly kinds: readonly { readonly kind: PriceKind; readonly refreshIntervalMs: number }[];
  /** How long a new or changed instrument waits for others in its batch. */
  readonly lingerMs: number;
  /** How long a record waits for the price that answers it; commits do not count. Longer than the linger. */
  readonly answerWithinMs: number;
  /** The largest batch that the provider is known to take. */
  readonly maxItems: (kind: PriceKind) => number;
  readonly maxBackoffMs: number;
  /** Instruments repaid long ago are requested once a day. */
  readonly repayment: Repayment;
  /** The wall clock at the monotonic time 0, for the slots: it stays as it was at the start, so that they stay in step. */
  readonly epochMs: number;
  readonly random: Random;
  readonly reported: ReportedFailures;
}

export type CoreStep =
  | { readonly kind: 'ask'; readonly batch: Batch }
  | { readonly kind: 'commit'; readonly transaction: CoreTransaction }
  /** Nothing before so many milliseconds have passed (perhaps infinitely many), or more is read, answered or committed. */
  | { readonly kind: 'wait'; readonly ms: number };

export interface CoreTransaction {
  readonly parts: readonly CommittedPart[];
  /** The next record to read after a restart; null where the results answer no record. */
  readonly offset: bigint | null;
  /** Of the series, committed with the offset; null without one. */
  readonly progress: WindowProgress | null;
}

export interface WindowProgress {
  readonly answeredMs: ReadonlyMap<PriceKind, number>;
  readonly missed: readonly MissedWindows[];
}

/** Windows of a series that were never requested: they open in this range. */
export interface MissedWindows {
  readonly kind: PriceKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** Of these products alone; null for all of them. */
  readonly isins: readonly string[] | null;
}

export interface CommittedPart {
  readonly batch: BatchPart;
  readonly results: readonly CoreResult[];
}

/** `offsets`: the records that a result answers; none for a refresh. */
export type CoreResult =
  | {
      readonly kind: 'prices';
      readonly instrument: AskedInstrument;
      readonly answer: Extract<PriceResponse, { readonly kind: 'prices' }>;
      readonly offsets: readonly bigint[];
    }
  | {
      readonly kind: 'failure';
      readonly instrument: AskedInstrument;
      readonly outcome: FailedOutcome;
      readonly problem: PriceProblem;
      readonly offsets: readonly bigint[];
      /** Always for an input, once per problem for a refresh. */
      readonly isDeadLetter: boolean;
      /** Its repayment has come, and the provider has no price any more: that is no reason to warn. */
      readonly isRepaid: boolean;
      /** Why the price that the topic shows goes; null when it stays, or when there is none. */
      readonly withdrawal: Withdrawal | null;
    }
  /**
   * Its records waited too long and are answered without a price, which is requested as soon as possible. Without offsets,
   * a superseded record of it is left behind.
   */
  | {
      readonly kind: 'postponed';
      readonly instrument: AskedInstrument;
      readonly offsets: readonly bigint[];
      readonly withdrawal: Withdrawal | null;
    }
  | (UnpricedMeaning & { readonly id: string; readonly offsets: readonly bigint[] })
  /** The instrument has left or changed its isin since it was asked for; its records are answered by a later one. */
  | { readonly kind: 'dropped' };

/** Why an instrument that is live and has an isin has no price any more. */
export type Withdrawal = 'isin-changed' | 'no-price';

export type FailedOutcome = Exclude<QuestionOutcome, { readonly kind: 'prices' | 'dropped' }>;

export function problemOf(outcome: FailedOutcome): PriceProblem {
  if (outcome.kind === 'unusable') return 'unusable';
  if (outcome.kind === 'refused') {
    if (outcome.code === 'BULK_MISMATCH') return 'mismatch';
    return outcome.status === null ? 'unanswered' : `refused ${outcome.status}`;
  }
  return outcome.status === null ? 'none' : `status ${outcome.status}`;
}

const MOST_REMEMBERED = 200_000;

/** Failures that are dead letters already: an instrument that fails for days adds one per problem, not one per refresh. */
export class ReportedFailures {
  readonly #keys = new Set<string>();

  has(kind: PriceKind, id: string, problem: PriceProblem): boolean {
    return this.#keys.has(`${kind} ${id} ${problem}`);
  }

  add(kind: PriceKind, id: string, problem: PriceProblem): void {
    this.#keys.add(`${kind} ${id} ${problem}`);
    const oldest = this.#keys.size > MOST_REMEMBERED ? this.#keys.values().next().value : undefined;
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
