/** The kinds of prices of an instrument: where several series of one are followed, `daily/OHLC` and the like. */
type Kind = string;

interface InputPartition {
  /** The topic of instruments that is read. */
  readonly topic: string;
  readonly partition: number;
}

/**
 * What happens in the price processor that an operator cares about, one function per event: so that the log line and the
 * metric of an event can never differ. Names end with their unit.
 */
export interface ProcessorEvents {
  /** The processor begins to read instruments; `freshness` can be asked from now on until the process ends. */
  processorStarted(event: ProcessorStarted): void;
  /** The member has joined its group (again) with this number of partitions, perhaps 0. */
  processorJoined(event: { readonly partitions: number }): void;
  /** A partition is ours: earlier holders are fenced, the committed offset is read and the table is filled. */
  partitionAssigned(event: PartitionAssigned): void;
  /** Another member reads this partition now, or we stop, or cannot go on. */
  partitionLost(event: InputPartition & { readonly why: string }): void;
  /** The writer of a partition is dead; a new one is opened, and offset and table are read again. */
  partitionWriterLost(event: InputPartition & { readonly err: unknown }): void;
  /** Records that cannot be read were met: of instruments, as the table is filled or as they come, or of a series. */
  recordsUnreadable(event: RecordsUnreadable): void;
  /** The responses of one batch are committed in one transaction. */
  batchPriced(event: BatchPriced): void;
  /** A bulk request was refused, did not fit, or hangs or fails while others do not: its parts are requested. */
  batchBisected(event: BatchBisected): void;
  /** The provider takes no larger batches, as its refusals showed. */
  batchLimitLearnt(event: { readonly kind: Kind; readonly maxItems: number }): void;
  /** A bulk request failed as a whole and is tried again after the wait. */
  bulkAttemptFailed(event: {
    readonly kind: Kind;
    readonly items: number;
    /** How many in a row, this one included. */
    readonly failures: number;
    readonly waitMs: number;
    readonly err: Error;
  }): void;
  /** An instrument that was priced, or is new, got no price; once per instrument and problem in a row. */
  instrumentFailing(event: InstrumentFailing): void;
  /** The group could not be read, or the registry did not give a schema of instruments; tried again after the wait. */
  processorAttemptFailed(event: {
    readonly failures: number;
    readonly waitMs: number;
    readonly err: Error;
    /** Whether the group counts this process meanwhile; otherwise it joins again after the wait. */
    readonly isMember: boolean;
  }): void;
  /** An operator has paused or stopped it: it has left its group, or not joined it, until it starts again. */
  processorRests(event: { readonly wanted: 'paused' | 'stopped' }): void;
  /** The processor has stopped for good: it needs an operator. Sources in the same process go on. */
  processorFailed(event: { readonly err: unknown }): void;
}

export interface ProcessorStarted {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly kinds: readonly Kind[];
  /** How fresh the prices were at the last computation. */
  readonly freshness: () => Freshness;
  /** Resolves when that is at most a second old; the pass over all instruments leaves other work its turn. */
  readonly refreshed?: () => Promise<void>;
}

export interface PartitionAssigned extends InputPartition {
  readonly transactionalId: string;
  /** Where reading goes on; the beginning where no offset was committed. */
  readonly offset: string;
  /** Instruments in the table, those without isin left out. */
  readonly instruments: number;
  /** Whether the table was read while the join waited, and not between fence and first batch. */
  readonly isReadAhead: boolean;
  readonly durationMs: number;
}

/**
 * Why a record cannot be read: the registry has no schema of instruments under the id that it names, it is none of an
 * instrument, or it is none of a series of prices.
 */
export const UNREADABLE_REASONS = ['schema', 'instrument', 'price'] as const;
export type UnreadableReason = (typeof UNREADABLE_REASONS)[number];

export interface RecordsUnreadable extends InputPartition {
  readonly reason: UnreadableReason;
  readonly records: number;
  readonly firstOffset: string;
}

export interface BatchPriced extends InputPartition {
  readonly kind: Kind;
  /** Requested instruments. */
  readonly items: number;
  /** Instruments that got a response with prices. */
  readonly priced: number;
  /** Price records written: snapshots, or windows that are new or changed. */
  readonly records: number;
  /** Windows that the topic holds already. */
  readonly unchanged: number;
  /** Items that the provider could not answer or refused. */
  readonly problems: number;
  /** Items whose response has a field of the wrong type. */
  readonly unusable: number;
  /** Responses that were not used, since the instrument has left or changed its isin meanwhile. */
  readonly dropped: number;
  /** Records of instruments that this batch answers; 0 for a refresh. */
  readonly inputs: number;
  /** Of them those that need no price: instruments without isin, and instruments that are gone. */
  readonly withoutIsin: number;
  readonly gone: number;
  /** And those whose price did not come in time, and is owed. */
  readonly postponed: number;
  readonly deadLetters: number;
  /** Tombstones on the topic of latest prices, by reason. */
  readonly tombstones: Readonly<Partial<Record<TombstoneReason, number>>>;
  /** Bulk calls made for it, repetitions and parts included. */
  readonly calls: number;
  readonly drift: number;
  readonly roundedNumbers: number;
  /** Responses whose `errors` flag contradicts their items. */
  readonly errorsFlagDiffers: number;
  /** From the first call to the last response, waiting for a free call included. */
  readonly askMs: number;
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

/** One instrument of which records were written. */
export interface PricedItem {
  readonly instrumentId: string;
  readonly isin: string;
  /** The values of its records, Avro in the wire format. */
  readonly values: readonly Buffer[];
}

export interface BatchBisected {
  readonly kind: Kind;
  readonly items: number;
  /** The code of the error, such as BULK_MISMATCH. */
  readonly code: string;
  /** The HTTP status of the refusal; null when the response did not fit. */
  readonly status: number | null;
}

export interface InstrumentFailing {
  readonly kind: Kind;
  readonly instrumentId: string;
  readonly problem: PriceProblem;
  /** Failures in a row, this one included. */
  readonly failures: number;
  readonly nextTryMs: number;
}

/**
 * Why an instrument has no price: the status of its item, `refused` with the status of the whole call, `mismatch` where
 * a response for it alone was for something else, `unusable` for a field of the wrong type, `none` for an item with neither.
 */
export type PriceProblem = `status ${number}` | `refused ${number}` | 'mismatch' | 'unusable' | 'none';

/**
 * How fresh the prices of one kind are, over all partitions that this process prices. Each instrument is one of priced,
 * waiting, failing and repaid (`priceState` of src/processor/core/price-state.ts): together they are all instruments.
 */
export interface KindFreshness {
  readonly kind: Kind;
  /** The last request, by this process and for this isin, was answered with a price; ages are theirs. */
  readonly priced: number;
  /** Not requested by this process yet. */
  readonly waiting: number;
  /** Repaid, and without a price or so long ago that it is requested once a day only. */
  readonly repaid: number;
  readonly ageP50Ms: number;
  readonly ageP99Ms: number;
  readonly ageMaxMs: number;
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
  /** Instruments with an isin, whose prices this process follows. */
  readonly instruments: number;
  /** Instruments whose newest record cannot be read: they are not priced. */
  readonly unreadable: number;
  /** Records of instruments that were read and are not answered yet. */
  readonly unansweredInputs: number;
  /** Records of instruments that were not read yet, by the last fetches. */
  readonly lag: number;
}
