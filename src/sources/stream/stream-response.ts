const FORM = /^(\d{1,20})-(\d{1,20})$/;

/** Negative where a comes first; null unless both are `<digits>-<digits>` (part 4.2 of src/provider/README.md). */
export function compareStreamOffsets(a: string, b: string): number | null {
  if (a === b) return 0;
  const [first, second] = [FORM.exec(a), FORM.exec(b)];
  if (first === null || second === null) return null;
  return compareDigits(first[1], second[1]) || compareDigits(first[2], second[2]);
}

/** False where the two have no order. */
export function isBefore(a: string | null | undefined, b: string): boolean {
  return typeof a === 'string' && (compareStreamOffsets(a, b) ?? 0) < 0;
}

function compareDigits(a: string | undefined, b: string | undefined): number {
  const [first, second] = [BigInt(a ?? 0), BigInt(b ?? 0)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

/** One response of a stream. The number of events says nothing about its end: a server may give fewer than asked. */
export interface StreamResponse {
  readonly next: string;
  /** The newest offset of the log, or only of this response; null for none. */
  readonly nextId: string | null;
}

export type StreamReading =
  | 'moved'
  /** No event and the same cursor: the end of the stream. */
  | 'quiet'
  /** Events under the same cursor, or a cursor that we had before: they would repeat for ever. */
  | 'stuck'
  /** The cursor fell behind ours. */
  | 'lower';

/** Offsets without an order (checks): a cursor that goes back is recognised among the `earlier` ones. */
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

/** The newest offset lies beyond the cursor: there is more, and this provider names the end of its log. */
export function namesMore({ next, nextId }: StreamResponse): boolean {
  return nextId !== null && isBefore(next, nextId);
}

export function hasReached({ next }: StreamResponse, offset: string | null): boolean {
  return offset !== null && (compareStreamOffsets(next, offset) ?? -1) >= 0;
}

export function isNewestLower(since: string, { nextId }: StreamResponse): boolean {
  return isBefore(nextId, since);
}
