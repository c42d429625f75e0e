/** What a walk has come to. Each row is one of added to repeated. */
export interface WalkCounts {
  readonly pages: number;
  readonly rows: number;
  /** Rows that the topic did not hold. */
  readonly added: number;
  /** Rows that the topic held with other content. */
  readonly corrected: number;
  readonly unchanged: number;
  /** Rows with the content that the topic held under another schema. */
  readonly reEncoded: number;
  /** Rows that an event since the walk's beginning had overtaken. */
  readonly touched: number;
  /** Rows that differ from what an event said within the hour before the walk: not used, the list may lag. */
  readonly contradicting: number;
  readonly deadLetters: number;
  /** Rows that a later row of the same page replaced, and dead ones that ended the page before. */
  readonly repeated: number;
  /** Rows with an id below the cursor of their page; counted besides. */
  readonly belowCursor: number;
  /** Tombstones. */
  readonly gone: number;
  /** Pages that were used although the stream could not be drained within its limit. */
  readonly undrained: number;
}

export const NO_COUNTS: WalkCounts = {
  pages: 0,
  rows: 0,
  added: 0,
  corrected: 0,
  unchanged: 0,
  reEncoded: 0,
  touched: 0,
  contradicting: 0,
  deadLetters: 0,
  repeated: 0,
  belowCursor: 0,
  gone: 0,
  undrained: 0,
};

export type MutableWalkCounts = { -readonly [Name in keyof WalkCounts]: number };
