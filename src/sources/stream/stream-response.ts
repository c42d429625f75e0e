const FORM = /^(\d{1,20})-(\d{1,20})$/;

/**
 * Compares two offsets of an event stream: negative where a comes first, 0 for the same. Null when they
 * are not of the form `<digits>-<digits>` (part 4.2 of src/provider/README.md), which alone can be compared.
 */
export function compareStreamOffsets(a: string, b: string): number | null {
  if (a === b) return 0;
  const [first, second] = [FORM.exec(a), FORM.exec(b)];
  if (first === null || second === null) return null;
  return compareDigits(first[1], second[1]) || compareDigits(first[2], second[2]);
}

function compareDigits(a: string | undefined, b: string | undefined): number {
  const [first, second] = [BigInt(a ?? 0), BigInt(b ?? 0)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

/**
 * One response of a stream that is followed by `since`. How many events it holds says
 * nothing about the end of the stream: a server may give fewer than were asked for, and need not say so.
 */
export interface StreamResponse {
  /** The cursor in `links.next`: where the next request goes on. */
  readonly next: string;
  /** The provider's "newest offset": of the log, or of this response only. Null where the response has none. */
  readonly nextId: string | null;
}

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
 * The newest offset of the response lies beyond its cursor: there is more for us, and this provider's
 * newest offset is that of the log: one that names the newest of its response never does so.
 */
export function namesMore({ next, nextId }: StreamResponse): boolean {
  return nextId !== null && (compareStreamOffsets(next, nextId) ?? 0) < 0;
}

/** The response's cursor has reached an offset; false where they cannot be compared. */
export function hasReached({ next }: StreamResponse, offset: string | null): boolean {
  return offset !== null && (compareStreamOffsets(next, offset) ?? -1) >= 0;
}

/** A newest offset before ours: a sign that the stream was reset. */
export function isNewestLower(since: string, answer: StreamResponse): boolean {
  return answer.nextId !== null && (compareStreamOffsets(answer.nextId, since) ?? 0) < 0;
}
