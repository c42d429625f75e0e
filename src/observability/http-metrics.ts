import type { HttpObserver } from '../support/http-observer.ts';
import type { Meters } from './meters.ts';

/** HTTP requests as metrics. */
export function createHttpMetrics(meters: Meters): HttpObserver {
  return {
    requested({ client, endpoint, code, durationMs, bytes }) {
      meters.add('spconnect_http_requests_total', { client, endpoint, code }, 1);
      meters.observe('spconnect_http_request_duration_seconds', { client, endpoint }, durationMs / 1_000);
      meters.add('spconnect_http_response_bytes_total', { client, endpoint }, bytes);
    },
    heldBack: ({ client, waitMs }) =>
      meters.add('spconnect_http_rate_limit_wait_seconds_total', { client }, waitMs / 1_000),
    limitShared({ client, processes, requestsPerSecond }) {
      meters.set('spconnect_rate_limit_processes', { client }, processes);
      meters.set('spconnect_rate_limit_requests_per_second', { client }, requestsPerSecond);
    },
    clockSeen: ({ clock, aheadMs }) => meters.set('spconnect_clock_ahead_seconds', { clock }, aheadMs / 1_000),
    tokenAsked: ({ client, outcome }) => meters.add('spconnect_token_requests_total', { client, outcome }, 1),
  };
}
