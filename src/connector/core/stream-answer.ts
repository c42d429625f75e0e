import { compareStreamOffsets } from './stream-offset.ts';

/** What a decision needs to know of one answer of a stream that is followed by `since`. */
export interface StreamAnswer {
  /** The cursor in `links.next`: where the next request goes on. */
  readonly next: string;
  /** The provider's "newest offset", which may lie beyond `next`; null where the answer has none. */
  readonly nextId: string | null;
  /** Whether it held as many events as were asked for. */
  readonly full: boolean;
}

/** What an answer to our `since` amounts to. */
export type StreamReading =
  /** The cursor moved on, with events or without. */
  | 'moved'
  /** No event and the same cursor: normal in a quiet stream. */
  | 'quiet'
  /** Events, but the same cursor, or a cursor that was ours before: taking them would repeat them for ever. Discarded. */
  | 'stuck'
  /** The cursor fell behind ours. Discarded. */
  | 'lower';

/**
 * Offsets without the form that can be compared are only told apart, as those of pre-trade checks are: going back is seen
 * by the `earlier` ones, which were ours.
 */
export function readStreamAnswer(
  since: string,
  { next }: StreamAnswer,
  events: number,
  earlier: readonly string[] = [],
): StreamReading {
  if (next === since) return events > 0 ? 'stuck' : 'quiet';
  const order = compareStreamOffsets(next, since);
  if (order === null) return earlier.includes(next) ? 'stuck' : 'moved';
  return order < 0 ? 'lower' : 'moved';
}

/** Whether the provider has more for us already, so that the next request need not wait. */
export function hasMore(answer: StreamAnswer): boolean {
  if (answer.full) return true;
  return answer.nextId !== null && (compareStreamOffsets(answer.next, answer.nextId) ?? 0) < 0;
}

/** Whether the answer names a newest offset that lies before ours: a sign that the stream was started anew. */
export function isNewestLower(since: string, answer: StreamAnswer): boolean {
  return answer.nextId !== null && (compareStreamOffsets(answer.nextId, since) ?? 0) < 0;
}
