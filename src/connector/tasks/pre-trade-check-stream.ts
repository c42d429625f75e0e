import type { CheckDecoder, DecodedCheck } from '../../decoding/check-decoder.ts';
import type { HttpResponse } from '../../http/http-response.ts';
import { newestCheckOffset, nextCheckOffset, type PreTradeChecks } from '../../provider/pre-trade-checks.ts';
import type { Clock } from '../../support/clock.ts';
import { responseTime } from '../stream/response-time.ts';
import { DeadLetterShare } from './dead-letter-share.ts';
import { type FollowedResponse, type FollowedStream, refusalOf } from './followed-stream.ts';
import { linksOf } from './instruments-provider.ts';

/** The provider's pre-trade checks, decoded and with their links read. */
export function followPreTradeChecks(options: {
  readonly preTradeChecks: PreTradeChecks;
  /** Asked before each request, so that a registry that is down is tried again. */
  readonly decoder: (signal: AbortSignal) => Promise<CheckDecoder>;
  /** The share of checks that may become dead letters: of one response, and of the last thousand. */
  readonly maxDeadLetters: number;
  readonly clock: Clock;
}): FollowedStream<DecodedCheck> {
  const { preTradeChecks, clock } = options;
  const share = new DeadLetterShare(options.maxDeadLetters);
  const { endpoint, baseUrl } = preTradeChecks;

  async function ask(since: string | null, signal: AbortSignal): Promise<FollowedResponse<DecodedCheck>> {
    const decoder = await options.decoder(signal);
    const startedMs = clock.monotonicMs();
    const consume = async ({ body, date }: HttpResponse): Promise<FollowedResponse<DecodedCheck>> => {
      const decoded = await decoder.decode(body);
      return {
        decoded,
        next: nextCheckOffset(linksOf(decoded.envelope, endpoint), baseUrl),
        nextId: newestCheckOffset(decoded.envelope),
        time: responseTime(date, clock.wallMs()),
        fetchMs: clock.monotonicMs() - startedMs,
      };
    };
    return preTradeChecks.list(since, consume, signal);
  }

  return {
    async start(signal) {
      // These checks are not used, so it does not matter whether they map.
      const { next, nextId, time, decoded } = await ask(null, signal);
      // Behind an answer that holds nothing lies nothing.
      return { since: next, newest: nextId ?? (decoded.rows.length === 0 ? next : null), time };
    },
    async after(since, signal) {
      try {
        const answer = await ask(since, signal);
        const whence = since === null ? endpoint : `${endpoint}?since=${since}`;
        share.check(answer.decoded.rows, whence);
        return { kind: 'stream', answer };
      } catch (error) {
        const refusal = since === null ? null : refusalOf(error, clock);
        if (refusal === null) throw error;
        return refusal;
      }
    },
  };
}
