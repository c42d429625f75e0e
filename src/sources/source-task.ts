import type { SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';

export interface SourceTurn {
  /** Records, dead letters and notifications that one transaction shall hold, with the offset that covers them. */
  readonly records: readonly OutgoingRecord[];
  /** Where the source goes on from once that is committed; null when there is nothing to commit. */
  readonly offset: SourceOffset | null;
  /** How long to wait before the next poll, in milliseconds; 0 for at once. */
  readonly waitMs: number;
  /** Ends the wait early when it aborts. */
  readonly wake?: AbortSignal;
  /** Called when the transaction is committed, with the time that it took: the task moves on from here only. */
  committed(commitMs: number): void;
}

/**
 * One source at work, from one opening of the writer to the next. It asks the provider and decides; it never writes.
 * A task that failed to commit is discarded; a new one starts from the committed offset.
 */
export interface SourceTask {
  /**
   * Asks the provider and turns the response into a turn. No transaction is open meanwhile: a slow response would hold up
   * every reader of the topics.
   *
   * @throws ConnectorError: its action says whether the poll is worth another try; that one may ask for less.
   */
  poll(signal: AbortSignal): Promise<SourceTurn>;
}
