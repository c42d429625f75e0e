import type { DecodedList } from '../../decoding/decoded-list.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import type { StreamResponse } from '../stream/stream-response.ts';

/** One answer of a stream, decoded. */
export interface FollowedResponse<Row> extends StreamResponse {
  readonly decoded: DecodedList<Row>;
  readonly time: ResponseTime;
}

/** A refusal of the offset that was asked for, or not. */
export type FollowedOutcome<Row> =
  | { readonly kind: 'stream'; readonly answer: FollowedResponse<Row> }
  | { readonly kind: 'refused'; readonly status: number; readonly time: ResponseTime };

/** A stream of the provider, decoded and with its links read; one attempt per call. */
export interface FollowedStream<Row> {
  /** Where the stream starts now; `newest` is the newest offset that the answer names. */
  start(
    signal: AbortSignal,
  ): Promise<{ readonly since: string; readonly newest: string | null; readonly time: ResponseTime }>;
  /** What comes after an offset; null: without one. */
  after(since: string | null, signal: AbortSignal): Promise<FollowedOutcome<Row>>;
}
