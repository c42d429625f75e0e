import type { DecodedList } from '../../decoding/decoded-list.ts';
import type { AnswerTime } from '../stream/answer-time.ts';
import type { StreamAnswer } from '../stream/stream-answer.ts';

/** One answer of a stream, decoded. */
export interface FollowedAnswer<Row> extends StreamAnswer {
  readonly decoded: DecodedList<Row>;
  readonly time: AnswerTime;
}

/** A refusal of the offset that was asked for, or not. */
export type FollowedOutcome<Row> =
  | { readonly kind: 'stream'; readonly answer: FollowedAnswer<Row> }
  | { readonly kind: 'refused'; readonly status: number; readonly time: AnswerTime };

/** A stream of the provider, decoded and with its links read; one attempt per call. */
export interface FollowedStream<Row> {
  /** Where the stream starts now; `newest` is the newest offset that the answer names. */
  start(
    signal: AbortSignal,
  ): Promise<{ readonly since: string; readonly newest: string | null; readonly time: AnswerTime }>;
  /** What comes after an offset; null: without one. */
  after(since: string | null, signal: AbortSignal): Promise<FollowedOutcome<Row>>;
}
