/** What the reading of a response depends on, beside the stream and its position. */
export interface StreamContext {
  readonly nowMs: number;
  readonly pollIntervalMs: number;
  readonly gapProofMs: number;
  readonly offsetHoldMs: number;
  /** Whether a proven gap goes on with all that is still served: then a suspicion is enough for a proof. */
  readonly rereadsAll?: boolean;
  /** How many events the response holds. */
  readonly events: number;
}
