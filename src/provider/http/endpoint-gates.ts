import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';

const BACK_OFF = { initialMs: 1_000, maximumMs: 60_000 };
const TOO_MANY_REQUESTS = 429;

export interface Refusal {
  readonly status: number;
  /** The time in the Retry-After header; undefined without the header. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Knows the endpoints that must not be called now. A refusal with `Retry-After`, or any 429, closes its endpoint for
 * all callers in the process. All clients share this object, because two clients can use the same token endpoint.
 */
export interface EndpointGates {
  /** The time until the closed endpoint opens, and the status that closed the endpoint; null if it is open. */
  heldBack(endpoint: string): { readonly remainingMs: number; readonly status: number } | null;
  /** @returns the time in milliseconds for which this refusal closes the endpoint; 0 if the refusal changes nothing */
  refused(endpoint: string, refusal: Refusal): number;
  answered(endpoint: string): void;
}

export function createEndpointGates(options: {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly random: Random;
}): EndpointGates {
  const { clock, random } = options;
  const gates = new Map<string, { readonly untilMs: number; readonly status: number; readonly failures: number }>();

  return {
    heldBack(endpoint) {
      const gate = gates.get(endpoint);
      const remainingMs = gate === undefined ? 0 : Math.ceil(gate.untilMs - clock.monotonicMs());
      return gate === undefined || remainingMs <= 0 ? null : { remainingMs, status: gate.status };
    },
    refused(endpoint, { status, retryAfterMs }) {
      if (retryAfterMs === undefined && status !== TOO_MANY_REQUESTS) return 0;
      const nowMs = clock.monotonicMs();
      const gate = gates.get(endpoint);
      // Other requests can be in flight when the first refusal comes. Their refusals are not counted as new failures.
      const isClosed = gate !== undefined && gate.untilMs > nowMs;
      const failures = (gate?.failures ?? 0) + (isClosed ? 0 : 1);
      const holdMs = retryAfterMs ?? (isClosed ? 0 : backOffMs(failures, BACK_OFF, random));
      const untilMs = Math.max(gate?.untilMs ?? 0, nowMs + holdMs);
      gates.set(endpoint, { untilMs, status, failures });
      return untilMs === gate?.untilMs ? 0 : holdMs;
    },
    answered(endpoint) {
      const gate = gates.get(endpoint);
      // A response to a request that was sent before the refusal does not open the endpoint.
      if (gate !== undefined && gate.untilMs <= clock.monotonicMs()) gates.delete(endpoint);
    },
  };
}
