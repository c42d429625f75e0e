import type { InstrumentTerms } from '../../avro/instrument-terms.ts';
import type { PriceProblem } from '../../observability/processor-events.ts';
import type { Random } from '../../support/back-off.ts';
import type { QuestionOutcome } from '../batch-responses.ts';
import type { PriceKind, PriceResponse } from '../bulk-prices.ts';
import type { Batch, BatchPart } from './batch.ts';
import type { AskedInstrument } from './instrument.ts';
import type { Repayment } from './repayment.ts';
import type { ReportedFailures } from './reported-failures.ts';

export interface PartitionCoreSettings {
  /** What is asked for. The first one answers the records of instruments; the others only refresh. */
  readonly kinds: readonly { readonly kind: PriceKind; readonly refreshIntervalMs: number }[];
  /** How long a new or changed instrument waits for others in its batch. */
  readonly lingerMs: number;
  /** How long a record waits for the price that answers it; commits do not count. Longer than the linger. */
  readonly answerWithinMs: number;
  /** The largest batch that the provider is known to take. */
  readonly maxItems: (kind: PriceKind) => number;
  readonly maxBackoffMs: number;
  /** What was repaid long ago is asked for once a day only. */
  readonly repayment: Repayment;
  /** The wall clock at the monotonic time 0, for the slots: it stays as it was at the start, so that they stay in step. */
  readonly epochMs: number;
  readonly random: Random;
  readonly reported: ReportedFailures;
}

/** What a record of an instruments topic says. */
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

/** What to do next. */
export type CoreStep =
  | { readonly kind: 'ask'; readonly batch: Batch }
  | { readonly kind: 'commit'; readonly transaction: CoreTransaction }
  /** Nothing before so many milliseconds have passed (perhaps infinitely many), or more is read, answered or committed. */
  | { readonly kind: 'wait'; readonly ms: number };

/** Answers of one kind and what they mean, to be committed as one. */
export interface CoreTransaction {
  readonly parts: readonly CommittedPart[];
  /** The next record to read after a restart; null where the results answer no record. */
  readonly offset: bigint | null;
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
      readonly outcome: Exclude<QuestionOutcome, { readonly kind: 'prices' }>;
      readonly problem: PriceProblem;
      readonly offsets: readonly bigint[];
      /** Whether it becomes a dead letter: always for an input, once per problem for a refresh. */
      readonly isDeadLetter: boolean;
      /** Why the price that the topic shows goes; null when it stays, or when there is none. */
      readonly withdrawal: Withdrawal | null;
    }
  /**
   * Nothing was answered for too long: its records are answered without a price, which is asked for as soon as can be. Or,
   * without offsets, a record of it is left behind though its answer is still to come.
   */
  | {
      readonly kind: 'postponed';
      readonly instrument: AskedInstrument;
      readonly offsets: readonly bigint[];
      readonly withdrawal: Withdrawal | null;
    }
  /** It cannot be priced: it has left the universe, or has no isin (any more). */
  | { readonly kind: 'noIsin' | 'gone'; readonly id: string; readonly offsets: readonly bigint[] }
  | {
      readonly kind: 'unreadable';
      readonly id: string;
      readonly key: string | null;
      readonly value: Buffer;
      readonly reason: string;
      readonly offsets: readonly bigint[];
    }
  /** The instrument has left or changed its isin since it was asked for; its records are answered by a later one. */
  | { readonly kind: 'dropped' };

/** Why an instrument that is live and has an isin has no price any more. */
export type Withdrawal = 'isin-changed' | 'no-price';

/** The problem of an outcome without prices. */
export function problemOf(outcome: Exclude<QuestionOutcome, { readonly kind: 'prices' }>): PriceProblem {
  if (outcome.kind === 'unusable') return 'unusable';
  if (outcome.kind === 'refused') return outcome.status === null ? 'mismatch' : `refused ${outcome.status}`;
  return outcome.status === null ? 'none' : `status ${outcome.status}`;
}
