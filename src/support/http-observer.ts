/** One request that was answered or failed; a request that our own stop has cut is not reported. */
export interface ObservedRequest {
  /** The interface of the request: referenceData, marketData. */
  readonly client: string;
  /** The path, with names in braces for its variable parts: never an id, never a query. */
  readonly endpoint: string;
  /** The status of the response, or the code of the error where no status says what was wrong. */
  readonly code: string;
  /** From sending the request until the last byte of the response was read and understood. */
  readonly durationMs: number;
  /** Of the decoded body; 0 without a body. */
  readonly bytes: number;
}

/** Receives a report of each HTTP request; metrics implement it. */
export interface HttpObserver {
  requested(request: ObservedRequest): void;
  /** A request was held back, so that the rate stays within its limit. */
  heldBack(wait: { readonly client: string; readonly waitMs: number }): void;
  /** The limit of an interface is divided among this many processes. */
  limitShared(share: { readonly client: string; readonly processes: number }): void;
  /** The reading of another clock: that of an interface, or `kafka`. `aheadMs`: how far it is ahead of that of this machine. */
  clockSeen(seen: { readonly clock: string; readonly aheadMs: number }): void;
  tokenAsked(asked: { readonly client: string; readonly failed: boolean }): void;
}
