// Generated from schemas/Notification.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

/** What an operator or a consumer must know of a source or processor and no other record can tell. Which fields are set depends on the kind. */
export type Notification = {
  /** Name of the source or processor. */
  readonly source: string;
  /** What happened, as a code word: walk-completed, retention-gap, stream-reset, shrink-refused, filter-changed, source-failed; more may come. */
  readonly kind: string | null;
  /** When it happened, by the clock that message or why names, else by the provider's. */
  readonly at: number | null;
  /** What happened and what to do about it, for people. */
  readonly message: string | null;
  /** Number of the walk that this is about. */
  readonly walk: number | null;
  /** When that walk began. */
  readonly walkStartedAt: number | null;
  /** Instruments that the walk found and the topic did not hold. */
  readonly added: number | null;
  /** Instruments whose content differed: an event was missed, or none was sent. */
  readonly corrected: number | null;
  /** Instruments that the topic held as they are; nothing was written for them. */
  readonly unchanged: number | null;
  /** Instruments that the topic held and the list no longer has; deleted, unless the kind is a refusal. */
  readonly gone: number | null;
  /** Instruments that were written again only since the schema changed. */
  readonly reEncoded: number | null;
  /** Inputs that became dead letters. */
  readonly dead: number | null;
  /** Instruments that the topic held before, where the number matters: a refused shrink is gone of known. */
  readonly known: number | null;
  /** When the time began of which events may be missing. */
  readonly gapFrom: number | null;
  /** When that time ended. */
  readonly gapTo: number | null;
  /** The provider's offset before the gap. */
  readonly gapSinceFrom: string | null;
  /** The provider's offset behind the gap. */
  readonly gapSinceTo: string | null;
  /** What it was concluded from. */
  readonly why: string | null;
  /** What is lost for good, and what will be mended by itself. */
  readonly lost: string | null;
  /** The filter that the committed offset belonged to. */
  readonly filterFrom: string | null;
  /** The filter that is configured now. */
  readonly filterTo: string | null;
  /** The code of the error, of the list in the documentation. */
  readonly errorCode: string | null;
};
