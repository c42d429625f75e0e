/** Why a response of the stream was not used: our offset was refused, brought nothing, went back or did not move. */
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

/** The kinds of prices of an instrument: where several series of one are followed, `daily/OHLC` and the like. */
type Kind = string;

/** A failure that is tried again after the wait. `failures`: how many in a row, this one included. */
export interface Retry {
  readonly failures: number;
  readonly waitMs: number;
  readonly err: Error;
}

interface InputPartition {
  readonly topic: string;
  readonly partition: number;
}

/** All that an operator may care about, a function per event: log, metrics and status read it from here. */
export interface Events {
  topicCreated(event: { readonly topic: string }): void;
  /** A topic differs harmlessly from what we would create; one sentence says how. */
  topicDrift(event: { readonly drift: string }): void;
  /** This replica has joined the others (again): it holds these partitions and runs these sources, perhaps none. */
  replicaJoined(event: { readonly partitions: readonly number[]; readonly sources: readonly string[] }): void;
  /** A partition of the offsets topic is ours: earlier holders are fenced, the committed offsets are read. */
  writerOpened(event: {
    readonly partition: number;
    readonly transactionalId: string;
    readonly durationMs: number;
  }): void;
  /** A source begins at its committed offset, or without one: at the start, and whenever its writer was opened again. */
  sourceStarted(event: SourceStarted): void;
  schemasRegistered(event: { readonly source: string }): void;
  /** The provider has answered a poll, and its results, if any, are committed. */
  polled(event: Polled): void;
  walkStarted(event: {
    readonly source: string;
    readonly walk: number;
    /** The provider's offset in its event stream from before the walk's first row. */
    readonly since: string;
    readonly why: string;
    /** The list may lag the stream: it is read so long after the start of the walk, and of a walk that goes on. */
    readonly waitMs: number;
  }): void;
  walkResumed(event: {
    readonly source: string;
    readonly walk: number;
    readonly pages: number;
    /** Where it goes on: the minId of its next page, null at its beginning. */
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
  /** A response of the stream was not used: it would repeat or lose events, or is empty while our offset is in doubt. */
  responseDiscarded(event: { readonly source: string; readonly why: (typeof DISCARD_REASONS)[number] }): void;
  notified(event: {
    readonly source: string;
    readonly kind: (typeof NOTIFICATION_KINDS)[number];
    readonly text: string;
  }): void;
  /** Kafka has not answered for so long that the status says so; and it answers again. */
  kafkaSilent(event: { readonly silentMs: number }): void;
  kafkaAnswers(event: { readonly silentMs: number }): void;
  /**
   * `part`: before any source, the check of the topics, or the group of the replicas. `endpoint`: the only one that waits,
   * while the source goes on; absent where the whole source waits.
   */
  attemptFailed(
    event: Retry & {
      readonly source?: string;
      readonly part?: 'topics' | 'replicas';
      readonly endpoint?: Polled['endpoint'];
    },
  ): void;
  /** The writer of a partition is dead; a new one is opened and every position on it read again. */
  writerLost(event: { readonly partition: number; readonly err: unknown }): void;
  sourcePaused(event: { readonly source: string }): void;
  sourceResumed(event: { readonly source: string }): void;
  /** An operator has stopped a source: it has given up its task, and its offset may be altered. */
  sourceStopped(event: { readonly source: string }): void;
  /** A value of the states topic cannot be read; the known state of the source stays in force. */
  stateUnreadable(event: { readonly source: string; readonly offset: string }): void;
  /** A source has stopped for good: it needs an operator. The others go on. */
  sourceFailed(event: { readonly source: string; readonly err: unknown }): void;
  adminListening(event: { readonly url: string }): void;
  stopped(event: Stopped): void;

  /** The processor begins to read instruments; `freshness` can be asked from now on until the process ends. */
  processorStarted(event: {
    readonly groupId: string;
    readonly topics: readonly string[];
    readonly kinds: readonly Kind[];
    /** How fresh the prices were at the last computation; null until the instruments of a partition are known. */
    readonly freshness: () => Freshness | null;
    /** Resolves when that is at most a second old; the pass over all instruments leaves other work its turn. */
    readonly refreshed?: () => Promise<void>;
  }): void;
  /** The member has joined its group (again) with this number of partitions, perhaps 0. */
  processorJoined(event: { readonly partitions: number }): void;
  /** A partition is ours: earlier holders are fenced, the committed offset is read and the table is filled. */
  partitionAssigned(
    event: InputPartition & {
      readonly transactionalId: string;
      /** Where reading goes on; the beginning where no offset was committed. */
      readonly offset: string;
      /** Instruments in the table, those without isin left out. */
      readonly instruments: number;
      readonly durationMs: number;
    },
  ): void;
  /** Another member reads this partition now, or we stop, or cannot go on. */
  partitionLost(event: InputPartition & { readonly why: string }): void;
  /** The writer of a partition is dead; a new one is opened, and offset and table are read again. */
  partitionWriterLost(event: InputPartition & { readonly err: unknown }): void;
  /** Records that cannot be read were met: of instruments, as the table is filled or as they come, or of a series. */
  recordsUnreadable(
    event: InputPartition & {
      readonly reason: UnreadableReason;
      readonly records: number;
      readonly firstOffset: string;
    },
  ): void;
  batchPriced(event: BatchPriced): void;
  /** A bulk request failed twice, while others were answered: its parts are requested. */
  batchBisected(event: {
    readonly kind: Kind;
    readonly items: number;
    readonly code: string;
    /** The HTTP status of the refusal; null when the response did not fit. */
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
  /** A bulk request failed as a whole. It is tried again once another one is answered; one item is asked after the wait. */
  bulkAttemptFailed(event: Retry & { readonly kind: Kind; readonly items: number }): void;
  windowsMissed(event: WindowsMissed): void;
  /** The group could not be read, or the registry did not give a schema of instruments; tried again after the wait. */
  processorAttemptFailed(
    event: Retry & {
      /** True if the group counts this process meanwhile; otherwise it joins again after the wait. */
      readonly isMember: boolean;
    },
  ): void;
  /** An operator has paused or stopped it: it has left its group, or not joined it, until it starts again. */
  processorRests(event: { readonly wanted: 'paused' | 'stopped' }): void;
  /** The processor has stopped for good: it needs an operator. Sources in the same process go on. */
  processorFailed(event: { readonly err: unknown }): void;
}

export interface StreamPlace {
  readonly source: string;
  readonly since: string | null;
  /** Time until the provider drops events that we have not read, if no further poll is answered. Null without an offset. */
  readonly secondsToRetentionCliff: number | null;
  /** Negative: overdue. Null while a walk is under way; absent for sources that do not walk. */
  readonly secondsToNextWalk?: number | null;
  /** Where the provider's stream ends, if that is before our offset; null or absent where it is not. */
  readonly providerEndsAt?: string | null;
  /** How many walks in a row could not find out what is gone; absent for sources that do not walk. */
  readonly walksWithoutDeletion?: number;
}

export interface SourceStarted extends StreamPlace {
  /** The newest walk, as the committed offset has it; absent without one, and for sources that do not walk. */
  readonly walk?: {
    readonly walk: number;
    readonly startedAt: string;
    readonly pages: number;
    readonly rows: number;
    /** Instruments that were no longer in the list; null for a walk that is not completed. */
    readonly gone: number | null;
  };
}

/** One readable response with rows; neither a refusal of our offset, nor a request for the start of a stream. */
export interface Polled extends StreamPlace {
  /** The kind of response, in metrics: instruments, events or pretradechecks. */
  readonly endpoint: string;
  /** Instruments, or items of the stream, also those that were not written. */
  readonly rows: number;
  /** True if the last response was the end of the stream; false while our offset is in doubt. */
  readonly caughtUp: boolean;
  readonly durationMs: number;
}

/** A dead letter as its log line has it: `pointer` and `reason` quote no value. */
export interface DeadRow {
  readonly key: string | null;
  readonly pointer: string;
  readonly reason: string;
}

export interface DeadLetterCounts {
  readonly deadLetters: number;
  /** Of these, values larger than their topic takes, and inputs without a readable key; the others have a wrong type. */
  readonly deadLettersTooLarge: number;
  readonly deadLettersWithoutKey: number;
  readonly dead?: readonly DeadRow[];
}

export interface ResponseCounts extends DeadLetterCounts {
  readonly drift: number;
  /** Decimals with more digits than the schema's, rounded in their field and verbatim in extras. */
  readonly roundedNumbers: number;
  /** Keys that were twice in one JSON object; the last one counts. */
  readonly duplicateKeys: number;
}

export interface PageCommitted extends ResponseCounts {
  readonly source: string;
  readonly page: number;
  /** Rows in the response; each is one of records, unchanged, deadLetters and repeatedRows. */
  readonly rows: number;
  readonly records: number;
  /** Rows that the topic holds already, or holds newer. */
  readonly unchanged: number;
  /** Rows that came again further down the same page; the last one counts. */
  readonly repeatedRows: number;
  readonly jsonBytes: number;
  readonly fetchMs: number;
  readonly commitMs: number;
  /** The minId of the walk's next page; null when this was its last. */
  readonly cursor: string | null;
}

export interface WalkCompleted {
  readonly source: string;
  readonly walk: number;
  /** True if a restart came between: then it deleted nothing. */
  readonly resumed: boolean;
  readonly pages: number;
  readonly rows: number;
  /** Instruments that the topic did not hold, held otherwise, held as they are, or held in an older schema. */
  readonly added: number;
  readonly corrected: number;
  readonly unchanged: number;
  readonly reEncoded: number;
  readonly gone: number;
  readonly deadLetters: number;
  /** From its start to its end by the provider's clock, pauses between two processes included. */
  readonly durationMs: number;
}

/** Why an instrument was deleted: a walk found it no more, or an event of a type in `deleteOnEventTypes` named it. */
export const DELETION_REASONS = ['walk', 'event'] as const;

/** One response of a stream, committed in one transaction. */
export interface StreamCommitted extends ResponseCounts {
  readonly source: string;
  /** The kind of its items: event or check. */
  readonly record: string;
  readonly items: number;
  readonly since: string;
  readonly commitMs: number;
  /** The events, for the demo; not logged. Absent for checks: the holder of a check can trade. */
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
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number;
}

/** A record cannot be read: its schema id is unknown, the value is not an instrument, or it is not a price. */
export const UNREADABLE_REASONS = ['schema', 'instrument', 'price'] as const;
export type UnreadableReason = (typeof UNREADABLE_REASONS)[number];

export interface BatchPriced extends InputPartition {
  readonly kind: Kind;
  readonly items: number;
  /** Of them those with a response of their own, a price or not: a refused call is none. */
  readonly answered: number;
  readonly priced: number;
  /** Price records written: snapshots, or windows that are new or changed. */
  readonly records: number;
  readonly unchanged: number;
  readonly problems: number;
  /** Items whose response has a field of the wrong type. */
  readonly unusable: number;
  /** Responses that were not used, since the instrument has left or changed its isin meanwhile. */
  readonly dropped: number;
  /** Records of instruments that this batch answers; 0 for a refresh. */
  readonly inputs: number;
  readonly deadLetters: number;
  /** Counted besides: that repaid products have no price any more is as it should be. */
  readonly deadLettersOfRepaid: number;
  /** Those of them that are new, a log line each: an instrument that fails for days has one per problem. */
  readonly dead?: readonly (DeadRow & { readonly source: string; readonly kind: Kind })[];
  readonly tombstones: Readonly<Partial<Record<TombstoneReason, number>>>;
  readonly commitMs: number;
  /** The priced instruments, for the status page; not logged. */
  readonly prices: readonly PricedItem[];
}

/**
 * Why an instrument has no price on the topic any more: it is gone, has no isin, or its record cannot be read; or it has
 * another isin, or the provider no price, and then the header `spc-problem` says what the provider answered.
 */
export const TOMBSTONE_REASONS = ['gone', 'no-isin', 'unreadable', 'isin-changed', 'no-price'] as const;
export type TombstoneReason = (typeof TOMBSTONE_REASONS)[number];

export interface PricedItem {
  readonly instrumentId: string;
  readonly isin: string;
  readonly values: readonly Buffer[];
}

/** Windows of a series were never requested: nothing was answered, or no processor ran, for longer than `catchUp`. */
export interface WindowsMissed {
  readonly kind: Kind;
  /** When the first of them opened; and when those open that were not missed. In ISO 8601. */
  readonly from: string;
  readonly to: string;
  /** How many products failed on their own; null when all of them are affected. */
  readonly products: number | null;
  readonly command: string;
}

/**
 * Why an instrument has no price: the status of its item, `refused` with the status of the whole call, `mismatch` where
 * a response for it alone was for something else, `unanswered` where calls for it alone got no usable
 * response, `unusable` for a field of the wrong type, `none` for an item with neither.
 */
export type PriceProblem = `status ${number}` | `refused ${number}` | 'mismatch' | 'unanswered' | 'unusable' | 'none';

/**
 * How fresh the prices of one kind are, over all partitions that this process prices. Each instrument is one of priced,
 * waiting, failing and repaid (`priceState` of src/prices/core/price-state.ts): together they are all instruments.
 */
export interface KindFreshness {
  readonly kind: Kind;
  /** The last request, by this process and for this isin, was answered with a price; ages are theirs. */
  readonly priced: number;
  readonly waiting: number;
  /** Repaid, and without a price or so long ago that it is requested once a day only. */
  readonly repaid: number;
  readonly ageP50Ms: number | null;
  readonly ageP99Ms: number | null;
  readonly ageMaxMs: number | null;
  /** How many ages are at most this many milliseconds; the bounds ascend, the last is infinite. */
  readonly ages: readonly { readonly atMostMs: number; readonly instruments: number }[];
  /** Of the priced and waiting ones: whose price, or else whose arrival, is older than one and a half intervals. */
  readonly overdue: number;
  /** Of the priced ones: whose newest snapshot says that quoting is inactive. */
  readonly pulled: number;
  /** Not repaid, and the last request got no price; by problem. */
  readonly failing: Readonly<Record<string, number>>;
}

/** How fresh the prices are: of the first kind, which answers new instruments, and of each. */
export interface Freshness extends KindFreshness {
  readonly kinds: readonly KindFreshness[];
  readonly instruments: number;
  /** Instruments whose newest record cannot be read: they are not priced. */
  readonly unreadable: number;
  /** Records of instruments that were read and are not answered yet. */
  readonly unansweredInputs: number;
  readonly lag: number;
}
