import type { SourceOffset } from '../../kafka/offset-store.ts';
import { type CommittedStream, isText, offsetFields, writeCommittedStream } from './committed-stream.ts';
import type { ResponseTime } from './response-time.ts';

/** The committed offset of a source that follows one stream and does nothing else. */
export interface FollowerOffset extends CommittedStream {
  /** Our offset in the stream; null where it is asked for without one, as pre-trade checks are at first. */
  readonly since: string | null;
}

const VERSION = 1;

/** The offset of a stream that begins here, with no gap behind it. */
export function offsetAtStart<Since extends string | null>(
  filter: string,
  since: Since,
  serverDate: ResponseTime,
): FollowerOffset & { readonly since: Since } {
  return {
    filter,
    since,
    serverDate,
    standingMs: 0,
    standingLeastMs: 0,
    gapSuspectedFromMs: null,
    held: null,
    gapsHealedAtMs: [],
  };
}

/** The offset as a flat map of primitives, the form of Kafka Connect's offsets topic. */
export function writeFollowerOffset(offset: FollowerOffset): SourceOffset {
  return writeCommittedStream(offset, VERSION);
}

/** Throws as `offsetFields` does. */
export function readFollowerOffset(
  raw: SourceOffset,
  expected: {
    readonly source: string;
    readonly filter: string;
    /** Whether the stream can be asked for without an offset. */
    readonly mayLackSince: boolean;
  },
): FollowerOffset {
  const { read, readOr, stream } = offsetFields(raw, { ...expected, versions: [VERSION] });
  return { ...stream(), since: expected.mayLackSince ? readOr('since', isText, null) : read('since', isText) };
}
