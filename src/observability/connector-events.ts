/** Why a response of the stream was not used: our offset was refused, brought nothing, went back or did not move. */
export const DISCARD_REASONS = ['refused', 'quiet', 'lower', 'stuck'] as const;

/** The kinds of notifications of a source. */
export const NOTIFICATION_KINDS = [
  'gapSuspected',
  'gapCertain',
  'gapProven',
  'streamReset',
  'offsetReset',
  'shrinkRefused',
  'deletionSkipped',
  'listLags',
  'deletionsStandStill',
  'walkGivenUp',
] as const;

/**
 * What happens in the connector that an operator cares about, one function per event: so that the log line and the
 * metric of an event can never differ. Names end with their unit.
 */
export interface ConnectorEvents {
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
  /** The registry knows every schema that the source writes; reported once for each source. */
  schemasRegistered(event: { readonly source: string }): void;
  /** The provider has answered a poll, and its results, if any, are committed. */
  polled(event: Polled): void;
  walkStarted(event: WalkStarted): void;
  walkResumed(event: WalkResumed): void;
  pageCommitted(event: PageCommitted): void;
  walkCompleted(event: WalkCompleted): void;
  /** When the next walk begins by itself, ISO 8601 by our own clock; in the past: with the next poll. */
  walkScheduled(event: { readonly source: string; readonly at: string }): void;
  eventsCommitted(event: EventsCommitted): void;
  /** Tombstones on an instruments topic are committed. */
  instrumentsDeleted(event: InstrumentsDeleted): void;
  checksCommitted(event: ChecksCommitted): void;
  /** A response of the stream was not used: it would repeat or lose events, or is empty while our offset is in doubt. */
  responseDiscarded(event: { readonly source: string; readonly why: (typeof DISCARD_REASONS)[number] }): void;
  /** A record was written to the notifications topic; the record has the details. */
  notified(event: {
    readonly source: string;
    readonly kind: (typeof NOTIFICATION_KINDS)[number];
    /** The message of the record. */
    readonly text: string;
  }): void;
  /** A poll failed and is tried again after the wait. */
  attemptFailed(event: {
    readonly source: string;
    /** The only endpoint that waits, while the source goes on; absent where the whole source waits. */
    readonly endpoint?: Polled['endpoint'];
    /** How many in a row, this one included. */
    readonly failures: number;
    readonly waitMs: number;
    readonly err: Error;
  }): void;
  /** The writer of a partition is dead; a new one is opened and every position on it read again. */
  writerLost(event: { readonly partition: number; readonly err: unknown }): void;
  /** An operator has paused a source: it keeps its place and sends no requests. */
  sourcePaused(event: { readonly source: string }): void;
  sourceResumed(event: { readonly source: string }): void;
  /** An operator has stopped a source: it has given up its task, and its offset may be altered. */
  sourceStopped(event: { readonly source: string }): void;
  /** A value of the states topic cannot be read; the known state of the source stays in force. */
  stateUnreadable(event: { readonly source: string; readonly offset: string; readonly why: string }): void;
  /** A source has stopped for good: it needs an operator. The others go on. */
  sourceFailed(event: { readonly source: string; readonly err: unknown }): void;
  /** The admin server answers; the base of its addresses. */
  adminListening(event: { readonly url: string }): void;
  stopped(event: Stopped): void;
}

/** The position of a source in its stream. */
export interface StreamPlace {
  readonly source: string;
  /** Our offset in the stream; null before the first one. */
  readonly since: string | null;
  /**
   * The time from now until the provider drops events that we have not read, if no further poll were answered. It falls
   * by a second per second until the next event of this source. Negative: they are dropped. Null without an offset.
   */
  readonly secondsToRetentionCliff: number | null;
  /**
   * The time from now until its next walk begins by itself, by the clock on which that is sooner; negative: overdue.
   * Null while a walk is under way; absent for sources that do not walk.
   */
  readonly secondsToNextWalk?: number | null;
  /** How many walks in a row could not find out what is gone; absent for sources that do not walk. */
  readonly walksWithoutDeletion?: number;
}

export interface SourceStarted extends StreamPlace {
  /** The newest walk, as the committed offset has it; absent without one, and for sources that do not walk. */
  readonly walk?: {
    readonly walk: number;
    /** ISO 8601, by our own clock. */
    readonly startedAt: string;
    readonly pages: number;
    readonly rows: number;
    /** Instruments that were no longer in the list; null for a walk that is not completed. */
    readonly gone: number | null;
  };
}

/** One readable response with rows; neither a refusal of our offset, nor a request for the start of a stream. */
export interface Polled extends StreamPlace {
  readonly endpoint: 'instruments' | 'events' | 'pretradechecks';
  /** Instruments, events or checks in the response, also those that were not written. */
  readonly rows: number;
  /** Whether the stream had no more for us when it was last asked; false while our offset is in doubt. */
  readonly caughtUp: boolean;
  /** Of the request, with its body decoded. */
  readonly durationMs: number;
}

export interface WalkStarted {
  readonly source: string;
  /** The number of the walk, from 1. */
  readonly walk: number;
  /** The provider's offset in its event stream from before the walk's first row. */
  readonly since: string;
  readonly why: string;
}

export interface WalkResumed {
  readonly source: string;
  readonly walk: number;
  /** Pages of this walk that are committed already. */
  readonly pages: number;
  /** Where it goes on: the minId of its next page, null at its beginning. */
  readonly cursor: string | null;
}

/** Inputs that could not become a record and went to the dead letters. */
export interface DeadLetterCounts {
  readonly deadLetters: number;
  /** Of these, values larger than their topic takes, and inputs without a readable key; the others have a wrong type. */
  readonly deadLettersTooLarge: number;
  readonly deadLettersWithoutKey: number;
}

/** Reported for every response whose rows were committed. */
export interface ResponseCounts extends DeadLetterCounts {
  /** Fields that the schema does not know, kept in extras. */
  readonly drift: number;
  /** Decimals with more digits than the schema's, rounded in their field and verbatim in extras. */
  readonly roundedNumbers: number;
  /** Keys that were twice in one JSON object; the last one counts. */
  readonly duplicateKeys: number;
}

/** One page of a walk, committed in one transaction. */
export interface PageCommitted extends ResponseCounts {
  readonly source: string;
  /** The number of the page in its walk, from 1. */
  readonly page: number;
  /** Rows in the response; each is one of records, unchanged, deadLetters and repeatedRows. */
  readonly rows: number;
  readonly records: number;
  /** Rows that the topic holds already, or holds newer. */
  readonly unchanged: number;
  /** Rows that came again further down the same page; the last one counts. */
  readonly repeatedRows: number;
  /** Size of the response's body, decoded. */
  readonly jsonBytes: number;
  /** Size of the records' values. */
  readonly avroBytes: number;
  readonly fetchMs: number;
  readonly commitMs: number;
  /** The minId of the walk's next page; null when this was its last. */
  readonly cursor: string | null;
}

export interface WalkCompleted {
  readonly source: string;
  readonly walk: number;
  /** Whether a restart came between: then it deleted nothing. */
  readonly resumed: boolean;
  readonly pages: number;
  readonly rows: number;
  /** Instruments that the topic did not hold, held otherwise, held as they are, or held in an older schema. */
  readonly added: number;
  readonly corrected: number;
  readonly unchanged: number;
  readonly reEncoded: number;
  /** Instruments that are no longer in the list: their tombstones. */
  readonly gone: number;
  readonly deadLetters: number;
  /** From its start to its end by the provider's clock, pauses between two processes included. */
  readonly durationMs: number;
}

/** Why an instrument was deleted: a walk found it no more, or an event of a type in `deleteOnEventTypes` named it. */
export const DELETION_REASONS = ['walk', 'event'] as const;

export interface InstrumentsDeleted {
  readonly source: string;
  readonly why: (typeof DELETION_REASONS)[number];
  readonly instruments: number;
}

/** One response of the event stream, committed in one transaction. */
export interface EventsCommitted extends ResponseCounts {
  readonly source: string;
  readonly events: number;
  /** Our offset in the stream from here on. */
  readonly since: string;
  readonly commitMs: number;
  /** The events, for the status page; not logged. */
  readonly items: readonly EventItem[];
}

/** One response with pre-trade checks, committed in one transaction. Reports no content: the holder of a check can trade. */
export interface ChecksCommitted extends ResponseCounts {
  readonly source: string;
  readonly checks: number;
  /** Our offset among the checks from here on. */
  readonly since: string;
  readonly commitMs: number;
}

export interface EventItem {
  readonly type: string | null;
  readonly name: string | null;
  readonly isin: string | null;
  readonly id: string;
}

export interface Stopped {
  readonly reason: string;
  /** The CPU time of the process, all cores together. */
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number;
}
