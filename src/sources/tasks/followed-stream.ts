import { ConnectorError } from '../../errors.ts';
import type { HttpResponse } from '../../provider/http/http-response.ts';
import type { DecodedList } from '../../records/decoding/decoded-list.ts';
import type { Clock } from '../../support/clock.ts';
import type { StreamStart } from '../stream/follower-messages.ts';
import { type ResponseTime, responseTime } from '../stream/response-time.ts';
import { refusesOffset } from '../stream/retention-gap.ts';
import type { StreamResponse } from '../stream/stream-response.ts';
import { DeadLetterShare } from './dead-letter-share.ts';

export interface FollowedResponse<Row> extends StreamResponse {
  readonly decoded: DecodedList<Row>;
  readonly time: ResponseTime;
  readonly fetchMs: number;
}

interface RefusedOffset {
  readonly kind: 'refused';
  readonly status: number;
  readonly time: ResponseTime;
  readonly err: ConnectorError;
}

export type FollowedOutcome<Row> = { readonly kind: 'stream'; readonly answer: FollowedResponse<Row> } | RefusedOffset;

/** Requests a stream of the provider. Each call makes one attempt. */
export interface FollowedStream<Row> {
  start(signal: AbortSignal): Promise<StreamStart>;
  /** `since`: null for a request without an offset. */
  after(since: string | null, signal: AbortSignal): Promise<FollowedOutcome<Row>>;
}

/** Returns the refusal of our offset; null for other errors, such as an error status of the token endpoint. */
export function refusalOf(error: unknown, clock: Clock): RefusedOffset | null {
  if (!(error instanceof ConnectorError) || error.code !== 'PROVIDER_REFUSED') return null;
  const { status, dateMs } = error.fields;
  if (typeof status !== 'number' || !refusesOffset(status)) return null;
  const time = responseTime(typeof dateMs === 'number' ? dateMs : null, clock.wallMs());
  return { kind: 'refused', status, time, err: error };
}

/** Creates a stream whose first request has no offset. Only the responses name offsets. */
export function followStream<Row extends { readonly kind: string }>(options: {
  readonly endpoint: string;
  readonly list: <T>(
    since: string | null,
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ) => Promise<T>;
  readonly decoder: (
    signal: AbortSignal,
  ) => Promise<{ decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<Row>> }>;
  readonly next: (links: ReadonlyMap<string, unknown>) => string;
  readonly newest: (envelope: ReadonlyMap<string, unknown>) => string | null;
  readonly maxDeadLetters: number;
  readonly clock: Clock;
}): FollowedStream<Row> {
  const { endpoint, list, clock } = options;
  const share = new DeadLetterShare(options.maxDeadLetters);

  async function ask(since: string | null, signal: AbortSignal): Promise<FollowedResponse<Row>> {
    const decoder = await options.decoder(signal);
    const startedMs = clock.monotonicMs();
    const consume = async ({ body, date }: HttpResponse): Promise<FollowedResponse<Row>> => {
      const decoded = await decoder.decode(body);
      return {
        decoded,
        next: options.next(linksOf(decoded.envelope, endpoint)),
        nextId: options.newest(decoded.envelope),
        time: responseTime(date, clock.wallMs()),
        fetchMs: clock.monotonicMs() - startedMs,
      };
    };
    return list(since, consume, signal);
  }

  return {
    async start(signal) {
      // The items of this response are not used. So any number of them may be dead letters.
      const { next, nextId, time, decoded } = await ask(null, signal);
      // An empty response is at the end of the stream, so its next offset is also the newest offset.
      return { since: next, newest: nextId ?? (decoded.rows.length === 0 ? next : null), time };
    },
    async after(since, signal) {
      try {
        const answer = await ask(since, signal);
        share.check(answer.decoded.rows, since === null ? endpoint : `${endpoint}?since=${since}`);
        return { kind: 'stream', answer };
      } catch (error) {
        const refusal = since === null ? null : refusalOf(error, clock);
        if (refusal === null) throw error;
        return refusal;
      }
    },
  };
}

/** @throws ConnectorError PROTOCOL_VIOLATION if `links` is absent. */
export function linksOf(envelope: ReadonlyMap<string, unknown>, endpoint: string): ReadonlyMap<string, unknown> {
  const links = envelope.get('links');
  if (links instanceof Map) return links;
  throw new ConnectorError(
    'PROTOCOL_VIOLATION',
    `The response of ${endpoint} has no object "links", which names the next request. Nothing was written.`,
  );
}
