import { compareStreamOffsets } from './stream-offset.ts';

/**
 * What a decision needs to know of one response of a stream that is followed by `since`. How many events it holds says
 * nothing about the end of the stream: a server may give fewer than were asked for, and need not say so.
 */
export interface StreamResponse {
  /** The cursor in `links.next`: where the next request goes on. */
  readonly next: string;
  /** The provider's "newest offset": of the log, or of this response only. Null where the response has none. */
  readonly nextId: string | null;
}

/** What a response to our `since` amounts to. */
export type StreamReading =
  /** The cursor moved on, with events or without. */
  | 'moved'
  /** No event and the same cursor: normal in a quiet stream, and the end of it. */
  | 'quiet'
  /** Events, but the same cursor, or a cursor that was ours before: taking them would repeat them for ever. Discarded. */
  | 'stuck'
  /** The cursor fell behind ours. Discarded. */
  | 'lower';

/**
 * Offsets that have no order, as those of pre-trade checks, are compared for equality alone: a cursor that goes back is
 * recognised among the `earlier` ones, which were ours.
 */
export function readStreamResponse(
  since: string,
  { next }: StreamResponse,
  events: number,
  earlier: readonly string[] = [],
): StreamReading {
  if (next === since) return events > 0 ? 'stuck' : 'quiet';
  const order = compareStreamOffsets(next, since);
  if (order === null) return earlier.includes(next) ? 'stuck' : 'moved';
  return order < 0 ? 'lower' : 'moved';
}

/**
 * Whether the newest offset that the response names lies beyond its cursor. Then there is more for us, and this provider's
 * newest offset is that of the log: one that names the newest of its response never does so.
 */
export function namesMore({ next, nextId }: StreamResponse): boolean {
  return nextId !== null && (compareStreamOffsets(next, nextId) ?? 0) < 0;
}

/** Whether the response's cursor has reached an offset, where the two can be compared. */
export function hasReached({ next }: StreamResponse, offset: string | null): boolean {
  return offset !== null && (compareStreamOffsets(next, offset) ?? -1) >= 0;
}

/** Whether the response names a newest offset that lies before ours: a sign that the stream was reset. */
export function isNewestLower(since: string, answer: StreamResponse): boolean {
  return answer.nextId !== null && (compareStreamOffsets(answer.nextId, since) ?? 0) < 0;
}
