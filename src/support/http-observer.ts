/** One request that was answered, or came to nothing; what we cut ourselves by stopping is not told. */
export interface ObservedRequest {
  /** Which interface was asked: referenceData, marketData. */
  readonly client: string;
  /** The path, its variable parts as names in braces: never an id, never a query. */
  readonly endpoint: string;
  /** The status of the answer, or the code of the error where no status says what was wrong. */
  readonly code: string;
  /** From sending the request to the answer's last byte being read and understood. */
  readonly durationMs: number;
  /** Of the answer's body, decoded; 0 when there was none. */
  readonly bytes: number;
}

/** Is told of what goes over HTTP; whoever counts it implements this. */
export interface HttpObserver {
  requested(request: ObservedRequest): void;
  /** A request was held back, so that the rate stays within its limit. */
  heldBack(wait: { readonly client: string; readonly waitMs: number }): void;
  /** A token was asked for and came, or did not. */
  tokenAsked(asked: { readonly client: string; readonly outcome: 'renewed' | 'failed' }): void;
}
