import { ConnectorError } from '../../errors.ts';
import type { DecodedList } from '../../records/decoding/decoded-list.ts';
import type { Clock } from '../../support/clock.ts';
import type { StreamStart } from '../stream/follower-messages.ts';
import { type ResponseTime, responseTime } from '../stream/response-time.ts';
import { refusesOffset } from '../stream/retention-gap.ts';
import type { StreamResponse } from '../stream/stream-response.ts';

export interface FollowedResponse<Row> extends StreamResponse {
  readonly decoded: DecodedList<Row>;
  readonly time: ResponseTime;
  readonly fetchMs: number;
}

interface RefusedOffset {
  readonly kind: 'refused';
  readonly status: number;
  readonly time: ResponseTime;
}

export type FollowedOutcome<Row> = { readonly kind: 'stream'; readonly answer: FollowedResponse<Row> } | RefusedOffset;

/** One attempt per call. */
export interface FollowedStream<Row> {
  start(signal: AbortSignal): Promise<StreamStart>;
  /** Null: the request has no offset. */
  after(since: string | null, signal: AbortSignal): Promise<FollowedOutcome<Row>>;
}

/**
 * The refusal of our offset; null for any other error: those of the token endpoint and of the registry have statuses
 * too.
 */
export function refusalOf(error: unknown, clock: Clock): RefusedOffset | null {
  if (!(error instanceof ConnectorError) || error.code !== 'PROVIDER_REFUSED') return null;
  const { status, dateMs } = error.fields;
  if (typeof status !== 'number' || !refusesOffset(status)) return null;
  const time = responseTime(typeof dateMs === 'number' ? dateMs : null, clock.wallMs());
  return { kind: 'refused', status, time };
}
