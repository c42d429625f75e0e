/** When an answer was given, by the provider's clock where it sent one, else by ours, and so marked. */
export interface AnswerTime {
  /** Milliseconds since the epoch. */
  readonly dateMs: number;
  readonly from: 'provider' | 'connector';
}
