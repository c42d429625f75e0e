const FORM = /^(\d{1,20})-(\d{1,20})$/;

/** Negative: `a` is before `b`. Null: no order, as one is not `<digits>-<digits>` (src/provider/README.md, 4.2). */
export function compareStreamOffsets(a: string, b: string): number | null {
  if (a === b) return 0;
  const [first, second] = [FORM.exec(a), FORM.exec(b)];
  if (first === null || second === null) return null;
  return compareDigits(first[1], second[1]) || compareDigits(first[2], second[2]);
}

/** False if the two offsets have no order. */
export function isBefore(a: string | null | undefined, b: string): boolean {
  return typeof a === 'string' && (compareStreamOffsets(a, b) ?? 0) < 0;
}

function compareDigits(a: string | undefined, b: string | undefined): number {
  const [first, second] = [BigInt(a ?? 0), BigInt(b ?? 0)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

/** One response of a stream. Even before the stream's end, a response may have fewer events than requested. */
export interface StreamResponse {
  /** The offset for the next request: the cursor of this response. */
  readonly next: string;
  /** The newest offset of the log, or only of this response; null if the response names no newest offset. */
  readonly nextId: string | null;
}

export type StreamReading =
  | 'moved'
  /** No event, and the cursor equals our offset: the end of the stream. */
  | 'quiet'
  /** Events, but the cursor equals our offset or an earlier offset: the same events would repeat forever. */
  | 'stuck'
  /** The cursor is lower than our offset. */
  | 'lower';

/** Offsets of pre-trade checks have no order. Events repeat if `earlier` (our previous offsets) contains the cursor. */
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

/** True if the newest offset is after the cursor: more events follow, and this provider names the end of its log. */
export function namesMore({ next, nextId }: StreamResponse): boolean {
  return nextId !== null && isBefore(next, nextId);
}

export function hasReached({ next }: StreamResponse, offset: string | null): boolean {
  return offset !== null && (compareStreamOffsets(next, offset) ?? -1) >= 0;
}
