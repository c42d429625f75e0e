/** One request with its result: a response or a failure. A request that the connector aborts is not reported. */
export interface ObservedRequest {
  /** The interface of the request: referenceData, marketData. */
  readonly client: string;
  /** The path without its query. Each variable part, such as an id, is replaced by a name in braces. */
  readonly endpoint: string;
  /** The HTTP status, or the code of an error that was not caused by a status. */
  readonly code: string;
  /** The time from sending the request until the response was read and decoded. */
  readonly durationMs: number;
  /** The size of the decoded body; 0 without a body. */
  readonly bytes: number;
}

/** Receives a report of each HTTP request. The metrics implement this interface. */
export interface HttpObserver {
  requested(request: ObservedRequest): void;
  /** Reports how long a request waited for the rate limit. */
  heldBack(wait: { readonly client: string; readonly waitMs: number }): void;
  /** Reports how many processes share the rate limit of an interface. */
  limitShared(share: { readonly client: string; readonly processes: number }): void;
  /** Reports the clock of an interface or of Kafka (`kafka`). `aheadMs`: this clock minus our clock. */
  clockSeen(seen: { readonly clock: string; readonly aheadMs: number }): void;
  tokenAsked(asked: { readonly client: string; readonly failed: boolean }): void;
}
