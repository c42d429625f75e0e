import type { PriceProblem } from '../../observe/events.ts';
import type { Random } from '../../support/back-off.ts';
import type { PriceKind, PriceResponse, QuestionOutcome } from '../bulk-prices.ts';
import type { Batch, BatchPart, UnpricedMeaning } from './batch.ts';
import type { AskedInstrument } from './instrument.ts';
import type { Repayment } from './price-state.ts';

export interface PartitionCoreSettings {
  /** The first kind answers the records of instruments; the other kinds only refresh. */
  readonly kinds: readonly { readonly kind: PriceKind; readonly refreshIntervalMs: number }[];
  /** How long a new or changed instrument waits for others in its batch. */
  readonly lingerMs: number;
  /** How long a record waits for its price. The time of commits does not count. Must be longer than `lingerMs`. */
  readonly answerWithinMs: number;
  /** The most instruments in a batch: the setting, or the lower limit that was learnt from failed calls. */
  readonly maxItems: (kind: PriceKind) => number;
  readonly maxBackoffMs: number;
  /** Decides which instruments were repaid long ago: these are requested only once a day. */
  readonly repayment: Repayment;
  /** The wall-clock time at monotonic time 0. Read once, because a corrected clock must not move the refresh slots. */
  readonly epochMs: number;
  readonly random: Random;
  readonly reported: ReportedFailures;
}

export type CoreStep =
  | { readonly kind: 'ask'; readonly batch: Batch }
  | { readonly kind: 'commit'; readonly transaction: CoreTransaction }
  /** How long to wait; may be infinite. A record, an answer or a commit ends the wait earlier. */
  | { readonly kind: 'wait'; readonly ms: number };

export interface CoreTransaction {
  readonly parts: readonly CommittedPart[];
  /** The offset of the next record to read after a restart; null if the transaction commits no offset. */
  readonly offset: bigint | null;
  /** The progress of the series, committed with the offset; null without an offset. */
  readonly progress: WindowProgress | null;
}

export interface WindowProgress {
  readonly answeredMs: ReadonlyMap<PriceKind, number>;
  readonly missed: readonly MissedWindows[];
}

/** The windows of a series that open in this range and were never requested. */
export interface MissedWindows {
  readonly kind: PriceKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** The affected products; null for all products. */
  readonly isins: readonly string[] | null;
}

export interface CommittedPart {
  readonly batch: BatchPart;
  readonly results: readonly CoreResult[];
}

/** `offsets`: the offsets of the records that the result answers; empty for a refresh. */
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
      /** Always true if the result answers records; for a refresh, true only if the problem is new. */
      readonly isDeadLetter: boolean;
      /** True if the product is repaid and the provider has no price: this is normal and gives no warning. */
      readonly isRepaid: boolean;
      /** Why the price on the topic is deleted; null if the price stays, or if the topic has no price. */
      readonly withdrawal: Withdrawal | null;
    }
  /**
   * The records waited too long. They are answered without a price, and the price is requested as soon as possible. If
   * `offsets` is empty, the result only deletes a price that may be of an earlier isin.
   */
  | {
      readonly kind: 'postponed';
      readonly instrument: AskedInstrument;
      readonly offsets: readonly bigint[];
      readonly withdrawal: Withdrawal | null;
    }
  | (UnpricedMeaning & { readonly id: string; readonly offsets: readonly bigint[] })
  /** The instrument was deleted or got another isin after the request. A later result answers its records. */
  | { readonly kind: 'dropped' };

/** Why an instrument that exists and has an isin loses its price. */
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

/** Failures that already have a dead letter. An instrument gets one dead letter per problem, not per refresh. */
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
