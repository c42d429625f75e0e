import { ConnectorError } from '../../errors.ts';
import type { DecodedList } from '../../records/decoding/decoded-list.ts';
import type { Clock } from '../../support/clock.ts';
import type { StreamStart } from '../stream/follower-messages.ts';
import { type ResponseTime, responseTime } from '../stream/response-time.ts';
import { refusesOffset } from '../stream/retention-gap.ts';
import type { StreamResponse } from '../stream/stream-response.ts';

/** One response of a stream, decoded. */
export interface FollowedResponse<Row> extends StreamResponse {
  readonly decoded: DecodedList<Row>;
  readonly time: ResponseTime;
  readonly fetchMs: number;
}

/** The provider has refused the offset that was asked for. */
interface RefusedOffset {
  readonly kind: 'refused';
  readonly status: number;
  readonly time: ResponseTime;
}

export type FollowedOutcome<Row> = { readonly kind: 'stream'; readonly answer: FollowedResponse<Row> } | RefusedOffset;

/** A stream of the provider, decoded and with its links read; one attempt per call. */
export interface FollowedStream<Row> {
  /** Where the stream starts now. */
  start(signal: AbortSignal): Promise<StreamStart>;
  /** The events after an offset; null: the request has none. */
  after(since: string | null, signal: AbortSignal): Promise<FollowedOutcome<Row>>;
}

/**
 * An error as the refusal of our offset; null for any other: those of the token endpoint and of the registry have
 * statuses too, which say nothing of our offset. A refusal has a date as well.
 */
export function refusalOf(error: unknown, clock: Clock): RefusedOffset | null {
  if (!(error instanceof ConnectorError) || error.code !== 'PROVIDER_REFUSED') return null;
  const { status, dateMs } = error.fields;
  if (typeof status !== 'number' || !refusesOffset(status)) return null;
  const time = responseTime(typeof dateMs === 'number' ? dateMs : null, clock.wallMs());
  return { kind: 'refused', status, time };
}
