import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import type { HttpObserver } from '../../support/http-observer.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { EndpointGates, Refusal } from './endpoint-gates.ts';

const SHORTEST_SLEEP_MS = 1;

export interface RequestEndpoint {
  /** Identifies the endpoint in this process: the origin, and the path without variable parts. Not for messages. */
  readonly key: string;
  readonly path: string;
  readonly from: string;
}

/** Delays requests to keep an interface's rate limit. Refuses requests to closed endpoints (endpoint-gates.ts). */
export interface RequestTurns {
  /** Resolves when the request may be sent. @throws PROVIDER_BUSY with `retryAfterMs` while the endpoint is closed. */
  take(endpoint: RequestEndpoint, signal: AbortSignal): Promise<void>;
  refused(endpoint: RequestEndpoint, refusal: Refusal): void;
  answered(endpoint: RequestEndpoint): void;
  share(processes: number): void;
}

export function createRequestTurns(options: {
  readonly name: string;
  /** The maximum request rate of all processes together, repeated requests included. */
  readonly requestsPerSecond: number;
  readonly gates: EndpointGates;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: HttpObserver | undefined;
}): RequestTurns {
  const { name, gates, clock, log, observer } = options;
  const limiter = createRateLimiter(options.requestsPerSecond, clock);
  let sharing = 1;
  const reportShare = () => observer?.limitShared({ client: name, processes: sharing });
  reportShare();

  function pass({ key, path, from }: RequestEndpoint): void {
    const held = gates.heldBack(key);
    if (held === null) return;
    const { remainingMs, status } = held;
    // The status shows the message later too, so it names the end of the pause.
    const until = new Date(clock.wallMs() + remainingMs).toISOString();
    const message = `${from} is not sent: the endpoint answered ${status} and is not called before ${until}.`;
    throw new ConnectorError('PROVIDER_BUSY', message, {
      retryAfterMs: Math.ceil(remainingMs),
      fields: { endpoint: path, heldBackBy: status },
    });
  }

  return {
    async take(endpoint, signal) {
      pass(endpoint);
      const askedAtMs = clock.monotonicMs();
      await limiter.take(signal);
      observer?.heldBack({ client: name, waitMs: clock.monotonicMs() - askedAtMs });
      pass(endpoint);
    },
    refused({ key, path }, refusal) {
      const holdMs = gates.refused(key, refusal);
      if (holdMs === 0) return;
      const fields = { client: name, endpoint: path, status: refusal.status, holdMs };
      log.warn(fields, 'the provider refused a request; its endpoint is not called for holdMs');
    },
    answered: ({ key }) => gates.answered(key),
    share(processes) {
      if (processes === sharing) return;
      sharing = processes;
      const requestsPerSecond = options.requestsPerSecond / processes;
      limiter.setLimit(requestsPerSecond);
      reportShare();
      log.info({ client: name, processes, requestsPerSecond }, 'the share of the request limit has changed');
    },
  };
}

/**
 * Lets requests pass in the order of their calls, at equal intervals. Unused time is not saved: even after a pause, no
 * second has more requests than the limit. Exported for tests.
 */
export function createRateLimiter(requestsPerSecond: number, clock: Clock) {
  let intervalMs = 1_000 / requestsPerSecond;
  let nextFreeMs = Number.NEGATIVE_INFINITY;
  let last: Promise<void> = Promise.resolve();
  return {
    setLimit(limit: number): void {
      intervalMs = 1_000 / limit;
    },
    /** Resolves when one more request may be sent; rejects with the signal's reason if the signal aborts first. */
    async take(signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      const before = last;
      const gone = Promise.withResolvers<void>();
      last = gone.promise;
      try {
        await untilAborted(before, signal);
        const nowMs = clock.monotonicMs();
        const slotMs = Math.max(nowMs, nextFreeMs);
        if (slotMs - nowMs >= SHORTEST_SLEEP_MS) await clock.sleep(slotMs - nowMs, signal);
        const wokenMs = clock.monotonicMs();
        nextFreeMs = (wokenMs - slotMs < SHORTEST_SLEEP_MS ? slotMs : wokenMs) + intervalMs;
      } finally {
        // If this caller aborts, the next caller still waits for the earlier callers, but not for this caller.
        void before.then(gone.resolve);
      }
    },
  };
}
