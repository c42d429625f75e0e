import type { FailedAttempt } from '../support/retry.ts';

/** Why a stream response was discarded: it refuses our offset, has no events, has a lower next offset, or repeats events. */
export const DISCARD_REASONS = ['refused', 'quiet', 'lower', 'stuck'] as const;

export const NOTIFICATION_KINDS = [
  'gapSuspected',
  'gapCertain',
  'gapProven',
  'streamBehind',
  'streamReset',
  'offsetReset',
  'shrinkRefused',
  'deletionSkipped',
  'listLags',
  'deletionsStandStill',
  'walkGivenUp',
  'topicReplaced',
] as const;

/** A kind of prices. If several series of one kind are requested, each series is a kind, such as `daily/OHLC`. */
type Kind = string;

interface InputPartition {
  readonly topic: string;
  readonly partition: number;
}

/** The events of this program (not of the provider), a function for each. Log, metrics and status receive these events. */
export interface Events {
  topicCreated(event: { readonly topic: string }): void;
  /** A topic differs harmlessly from the topic that we would create; `drift` describes the difference in a sentence. */
  topicDrift(event: { readonly drift: string }): void;
  /** This replica has joined the group, for the first time or again. The lists are empty if it got no partition. */
  replicaJoined(event: { readonly partitions: readonly number[]; readonly sources: readonly string[] }): void;
  /** The writer of a partition of the offsets topic is open. Earlier writers are fenced, and the offsets are read. */
  writerOpened(event: {
    readonly partition: number;
    readonly transactionalId: string;
    readonly durationMs: number;
  }): void;
  /** A source begins to run, with or without a committed offset. Called again each time its writer is opened again. */
  sourceStarted(event: SourceStarted): void;
  schemasRegistered(event: { readonly source: string }): void;
  /** The provider has answered a poll. The results, if the poll had results, are committed. */
  polled(event: Polled): void;
  walkStarted(event: {
    readonly source: string;
    readonly walk: number;
    /** The stream offset of the source when the walk started. */
    readonly since: string;
    readonly why: string;
    /** The wait before the list is read, because the list may lag behind the stream. A resumed walk also waits. */
    readonly waitMs: number;
  }): void;
  walkResumed(event: {
    readonly source: string;
    readonly walk: number;
    readonly pages: number;
    /** The minId of the walk's next page; null at the beginning of the list. */
    readonly cursor: string | null;
    readonly waitMs: number;
  }): void;
  pageCommitted(event: PageCommitted): void;
  walkCompleted(event: WalkCompleted): void;
  streamCommitted(event: StreamCommitted): void;
  instrumentsDeleted(event: {
    readonly source: string;
    readonly why: (typeof DELETION_REASONS)[number];
    readonly instruments: number;
  }): void;
  /** A response of the stream was not used. It repeats or loses events, or it is empty while our offset may be invalid. */
  responseDiscarded(event: {
    readonly source: string;
    readonly why: (typeof DISCARD_REASONS)[number];
    /** The provider's refusal, if `why` is `refused`. */
    readonly err?: Error;
  }): void;
  notified(event: {
    readonly source: string;
    readonly kind: (typeof NOTIFICATION_KINDS)[number];
    readonly text: string;
  }): void;
  /** Kafka has not answered for some time. `kafkaAnswers` follows when Kafka answers again. */
  kafkaSilent(event: { readonly silentMs: number }): void;
  kafkaAnswers(event: { readonly silentMs: number }): void;
  /**
   * An attempt failed and is repeated. Without a source, `part` names the attempt: to verify the topics, or to be a member
   * of the group (`replicas`). If `endpoint` is present, only requests to this endpoint wait. Otherwise the whole source waits.
   */
  attemptFailed(
    event: FailedAttempt & {
      readonly source?: string;
      readonly part?: 'topics' | 'replicas';
      readonly endpoint?: Polled['endpoint'];
    },
  ): void;
  /** The writer of a partition is lost. A new writer is opened, and all offsets of the partition are read again. */
  writerLost(event: { readonly partition: number; readonly err: unknown }): void;
  sourcePaused(event: { readonly source: string }): void;
  sourceResumed(event: { readonly source: string }): void;
  /** An operator has stopped a source. Its task has ended, so the operator may now change its offset. */
  sourceStopped(event: { readonly source: string }): void;
  /** A value of the states topic cannot be read; the known state of the source stays in force. */
  stateUnreadable(event: { readonly source: string; readonly offset: string }): void;
  /** A source has stopped permanently and needs an operator. The other sources continue. */
  sourceFailed(event: { readonly source: string; readonly err: unknown }): void;
  adminListening(event: { readonly url: string }): void;
  stopped(event: Stopped): void;

  /** The price processor begins to read instruments. `freshness` can be called until the process ends. */
  processorStarted(event: {
    readonly groupId: string;
    readonly topics: readonly string[];
    readonly kinds: readonly Kind[];
    /** The freshness that was computed last; null until the instruments of a partition are known. */
    readonly freshness: () => Freshness | null;
    /** Resolves when the freshness is at most a second old. Other work may run during the computation. */
    readonly refreshed?: () => Promise<void>;
  }): void;
  /** The price processor has joined its group, for the first time or again. It may get 0 partitions. */
  processorJoined(event: { readonly partitions: number }): void;
  /** This process begins to request the prices of a partition. Earlier writers are fenced; offset and instruments are read. */
  partitionAssigned(
    event: InputPartition & {
      readonly transactionalId: string;
      /** The offset at which reading continues: the committed offset, or else the beginning of the partition. */
      readonly offset: string;
      /** The number of instruments with an isin. */
      readonly instruments: number;
      readonly durationMs: number;
    },
  ): void;
  /** Another member reads this partition now, or this process stops or cannot continue. */
  partitionLost(event: InputPartition & { readonly why: string }): void;
  /** The writer of a partition is lost. A new writer is opened; the offset and the instruments are read again. */
  partitionWriterLost(event: InputPartition & { readonly err: unknown }): void;
  /** Unreadable records were found: records of instruments, or price records of a series. */
  recordsUnreadable(
    event: InputPartition & {
      readonly reason: UnreadableReason;
      readonly records: number;
      readonly firstOffset: string;
    },
  ): void;
  batchPriced(event: BatchPriced): void;
  /** A bulk request failed twice while other requests were answered. So the request is divided, and its parts are sent. */
  batchBisected(event: {
    readonly kind: Kind;
    readonly items: number;
    readonly code: string;
    /** The HTTP status of the refusal; null if the response did not match the request. */
    readonly status: number | null;
  }): void;
  bulkAnswered(event: {
    readonly kind: Kind;
    readonly items: number;
    readonly durationMs: number;
    readonly drift: number;
    readonly roundedNumbers: number;
  }): void;
  batchLimitLearnt(event: { readonly kind: Kind; readonly maxItems: number }): void;
  /** A whole bulk request failed. After `waitMs`, one item is requested alone. Other items wait until a request is answered. */
  bulkAttemptFailed(event: FailedAttempt & { readonly kind: Kind; readonly items: number }): void;
  windowsMissed(event: WindowsMissed): void;
  /** The group membership, or the reading of operators' commands, failed and is repeated. This process has no partitions. */
  processorAttemptFailed(event: FailedAttempt): void;
  /** A record of a partition cannot be read, because the registry does not answer. The reading waits, and is repeated. */
  partitionReadFailed(event: InputPartition & FailedAttempt): void;
  /** The record can be read now. */
  partitionReadAgain(event: InputPartition): void;
  /** An operator has paused or stopped the price processor. The processor leaves its group until it starts again. */
  processorRests(event: { readonly wanted: 'paused' | 'stopped' }): void;
  /** The price processor has stopped permanently and needs an operator. Sources in the same process continue. */
  processorFailed(event: { readonly err: unknown }): void;
}

export interface StreamPlace {
  readonly source: string;
  readonly since: string | null;
  /** Seconds until the provider drops unread events, if no further poll succeeds; null without an offset. */
  readonly secondsToRetentionCliff: number | null;
  /** Negative if the next walk is overdue. Null during a walk; absent for sources that do not walk. */
  readonly secondsToNextWalk?: number | null;
  /** The offset at the end of the provider's stream if it is lower than our offset; otherwise null or absent. */
  readonly providerEndsAt?: string | null;
  /** Consecutive walks that could not determine which instruments were removed; absent for sources that do not walk. */
  readonly walksWithoutDeletion?: number;
}

export interface SourceStarted extends StreamPlace {
  /** The newest walk in the committed offset; absent without a walk. */
  readonly walk?: {
    readonly walk: number;
    readonly startedAt: string;
    readonly pages: number;
    readonly rows: number;
    /** Instruments that the walk did not find; null for a walk that is not completed. */
    readonly gone: number | null;
  };
}

/** A readable response of the list or of a stream. Not for refused offsets, and not for requests for a stream's start. */
export interface Polled extends StreamPlace {
  /** The kind of response, in metrics: instruments, events or pretradechecks. */
  readonly endpoint: string;
  /** Number of instruments or stream items, including items that were not written. */
  readonly rows: number;
  /** True if the last response reached the end of the stream; false while our offset may be invalid. */
  readonly caughtUp: boolean;
  readonly durationMs: number;
}

/** The log line of a dead letter; `pointer` and `reason` quote no value. */
export interface DeadRow {
  readonly key: string | null;
  readonly pointer: string;
  readonly reason: string;
}

export interface DeadLetterCounts {
  readonly deadLetters: number;
  /** Rows that are too large. `deadLetters` also counts rows with a field of a wrong type, and rows without a key. */
  readonly deadLettersTooLarge: number;
  readonly deadLettersWithoutKey: number;
  readonly dead?: readonly DeadRow[];
}

export interface ResponseCounts extends DeadLetterCounts {
  readonly drift: number;
  /** Decimals with more digits than the schema has: rounded in their field, exact in extras. */
  readonly roundedNumbers: number;
  /** Keys that occur twice in one JSON object; the last value counts. */
  readonly duplicateKeys: number;
}

export interface PageCommitted extends ResponseCounts {
  readonly source: string;
  readonly page: number;
  /** Rows in the response: the sum of records, notWritten, deadLetters and repeatedRows. */
  readonly rows: number;
  readonly records: number;
  /** Rows that the topic already has, in the same or a newer state: unchanged, touched or contradicting. */
  readonly notWritten: number;
  /** Rows that are repeated later on the same page; the last row counts. */
  readonly repeatedRows: number;
  readonly jsonBytes: number;
  readonly fetchMs: number;
  readonly commitMs: number;
  /** The minId of the walk's next page; null after the last page. */
  readonly cursor: string | null;
}

export interface WalkCompleted {
  readonly source: string;
  readonly walk: number;
  /** True if the process was restarted during the walk; such a walk deletes nothing. */
  readonly resumed: boolean;
  readonly pages: number;
  readonly rows: number;
  /** Instruments that the topic did not have. */
  readonly added: number;
  readonly corrected: number;
  readonly unchanged: number;
  /** Instruments whose content is equal, but in an older schema. */
  readonly reEncoded: number;
  readonly gone: number;
  readonly deadLetters: number;
  /** Time from start to end by the provider's clock, including pauses between two processes. */
  readonly durationMs: number;
}

/** Why an instrument was deleted: a walk did not find it, or an event of a type in `deleteOnEventTypes` named it. */
export const DELETION_REASONS = ['walk', 'event'] as const;

/** One response of a stream, committed in one transaction. */
export interface StreamCommitted extends ResponseCounts {
  readonly source: string;
  /** The kind of the items: event or check. */
  readonly record: string;
  readonly items: number;
  readonly since: string;
  readonly commitMs: number;
  /** True if the events repeat: they change no instrument. */
  readonly isAgain?: boolean;
  /** The provider's events, for the demo; not logged. Absent for pre-trade checks, because the holder of a check can trade. */
  readonly events?: readonly EventItem[];
}

export interface EventItem {
  readonly type: string | null;
  readonly name: string | null;
  readonly isin: string | null;
  readonly id: string;
}

export interface Stopped {
  readonly reason: string;
  /** User and system time of the whole process. */
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number;
}

/** Why a record cannot be read: its schema id is unknown, or the value is not an instrument or not a price. */
export const UNREADABLE_REASONS = ['schema', 'instrument', 'price'] as const;
export type UnreadableReason = (typeof UNREADABLE_REASONS)[number];

export interface BatchPriced extends InputPartition {
  readonly kind: Kind;
  readonly items: number;
  /** Items that the provider answered, with or without a price. Items whose calls were refused do not count. */
  readonly answered: number;
  readonly priced: number;
  /** Written price records: snapshots, and windows that are new or changed. */
  readonly records: number;
  readonly unchanged: number;
  readonly problems: number;
  /** Items whose response has a field of the wrong type. */
  readonly unusable: number;
  /** Responses that were not used, because the instrument was deleted or got another isin meanwhile. */
  readonly dropped: number;
  /** Instrument records that this batch answers; 0 for a refresh. */
  readonly inputs: number;
  readonly deadLetters: number;
  /** Dead letters of repaid products; `deadLetters` does not count them. Repaid products normally have no price. */
  readonly deadLettersOfRepaid: number;
  /** New dead letters, each with a log line. An instrument that fails for days gets only one dead letter for each problem. */
  readonly dead?: readonly (DeadRow & { readonly source: string; readonly kind: Kind })[];
  readonly tombstones: Readonly<Partial<Record<TombstoneReason, number>>>;
  readonly commitMs: number;
  /** The priced instruments, for the status page; not logged. */
  readonly prices: readonly PricedItem[];
}

/**
 * Why a price is deleted: the instrument is gone, has no isin, has an unreadable record or has a new isin, or the
 * provider has no price. For the last two reasons, the header `spc-problem` has the `PriceProblem` of the request.
 */
export const TOMBSTONE_REASONS = ['gone', 'no-isin', 'unreadable', 'isin-changed', 'no-price'] as const;
export type TombstoneReason = (typeof TOMBSTONE_REASONS)[number];

export interface PricedItem {
  readonly instrumentId: string;
  readonly isin: string;
  readonly values: readonly Buffer[];
}

/** Windows of a series were not requested. For longer than `catchUp`, no price processor ran or no request was answered. */
export interface WindowsMissed {
  readonly kind: Kind;
  /** Opening times in ISO 8601: of the first missed window, and of the first window after the missed windows. */
  readonly from: string;
  readonly to: string;
  /** Number of affected products; null if `command` covers all products. */
  readonly products: number | null;
  readonly command: string;
}

/**
 * Why an instrument has no price. `status`: the status of its item. `refused`: the status of the whole call.
 * `mismatch`: a call for this instrument alone got the response of another instrument. `unanswered`: calls for this
 * instrument alone got no usable response. `unusable`: a field has a wrong type. `none`: no status and no price.
 */
export type PriceProblem = `status ${number}` | `refused ${number}` | 'mismatch' | 'unanswered' | 'unusable' | 'none';

/**
 * Freshness of one kind of prices, for all partitions that this process prices. Each instrument is exactly one of
 * priced, waiting, failing and repaid (`priceState` of src/prices/core/price-state.ts).
 */
export interface KindFreshness {
  readonly kind: Kind;
  /** Instruments whose last request got a price; only requests of this process count. All ages below are ages of these prices. */
  readonly priced: number;
  readonly waiting: number;
  /** Repaid instruments that have no price, or were repaid so long ago that they are requested only once a day. */
  readonly repaid: number;
  readonly ageP50Ms: number | null;
  readonly ageP99Ms: number | null;
  readonly ageMaxMs: number | null;
  /** Number of ages up to each bound in milliseconds. The bounds ascend; the last bound is infinite. */
  readonly ages: readonly { readonly atMostMs: number; readonly instruments: number }[];
  /** Priced or waiting instruments that got no price for more than one and a half refresh intervals. */
  readonly overdue: number;
  /** Priced instruments whose newest snapshot says that quoting is inactive. */
  readonly pulled: number;
  /** Instruments that are not repaid and whose last request got no price, by problem. */
  readonly failing: Readonly<Record<string, number>>;
}

/** Freshness of the first kind of prices, which answers the instrument records. `kinds` lists all kinds. */
export interface Freshness extends KindFreshness {
  readonly kinds: readonly KindFreshness[];
  readonly instruments: number;
  /** Instruments whose newest record cannot be read: they are not priced. */
  readonly unreadable: number;
  /** Instrument records that were read and are not answered yet. */
  readonly unansweredInputs: number;
  readonly lag: number;
}
