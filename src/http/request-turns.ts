import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import type { EndpointGates, Refusal } from './endpoint-gates.ts';
import { createRateLimiter } from './rate-limiter.ts';

/** One endpoint as the gates know it and as messages name it. */
export interface RequestEndpoint {
  /** Origin and path without variable parts: the same for every caller in the process. Never shown. */
  readonly key: string;
  /** The path alone. */
  readonly path: string;
  /** Names the request in messages: `GET /v1/instruments of referenceData`. */
  readonly from: string;
}

/**
 * What every request to one interface of the provider passes before it is sent, those for its tokens included: the
 * gate of its endpoint, and the rate limit of the interface.
 */
export interface RequestTurns {
  /**
   * Resolves when the request may be sent.
   *
   * @throws ConnectorError PROVIDER_BUSY with `retryAfterMs` while the endpoint is held back: nothing is sent then.
   */
  take(endpoint: RequestEndpoint, signal: AbortSignal): Promise<void>;
  /** A response came; its status may ask for patience. */
  refused(endpoint: RequestEndpoint, refusal: Refusal): void;
  answered(endpoint: RequestEndpoint): void;
  /** How many processes ask this interface: each gets its share of the rate limit. One by default. */
  share(processes: number): void;
}

export function createRequestTurns(options: {
  /** `referenceData` or `marketData`. */
  readonly name: string;
  /** Upper limit of the request rate of all processes together, repeated requests included. */
  readonly requestsPerSecond: number;
  readonly gates: EndpointGates;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: HttpObserver | undefined;
}): RequestTurns {
  const { name, gates, clock, log, observer } = options;
  const limiter = createRateLimiter(options.requestsPerSecond, clock);
  let sharing = 1;
  const reportShare = (requestsPerSecond: number) =>
    observer?.limitShared({ client: name, processes: sharing, requestsPerSecond });
  reportShare(options.requestsPerSecond);

  function pass({ key, path, from }: RequestEndpoint): void {
    const held = gates.heldBack(key);
    if (held === null) return;
    const { remainingMs, status } = held;
    const message = `${from} is not sent: the endpoint answered ${status} and is not asked for ${Math.ceil(remainingMs / 1_000)} s more.`;
    throw new ConnectorError('PROVIDER_BUSY', message, {
      retryAfterMs: remainingMs,
      fields: { endpoint: path, heldBackBy: status },
    });
  }

  return {
    async take(endpoint, signal) {
      pass(endpoint);
      const askedAtMs = clock.monotonicMs();
      await limiter.take(signal);
      observer?.heldBack({ client: name, waitMs: clock.monotonicMs() - askedAtMs });
      // Another request may have been refused meanwhile.
      pass(endpoint);
    },
    refused({ key, path }, refusal) {
      const holdMs = gates.refused(key, refusal);
      if (holdMs === 0) return;
      const fields = { client: name, endpoint: path, status: refusal.status, holdMs };
      log.warn(fields, 'the provider asks for patience; this endpoint is not asked until then');
    },
    answered: ({ key }) => gates.answered(key),
    share(processes) {
      if (processes === sharing) return;
      sharing = processes;
      const requestsPerSecond = options.requestsPerSecond / processes;
      limiter.setLimit(requestsPerSecond);
      reportShare(requestsPerSecond);
      log.info({ client: name, processes, requestsPerSecond }, 'the share of the request limit has changed');
    },
  };
}
