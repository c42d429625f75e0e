import type { ConnectorEvents } from '../observability/connector-events.ts';
import type { Clock } from '../support/clock.ts';

/** The sources may wait for longer: for a replica that was killed, a provider that does not answer, or an operator. */
const PATIENCE_MS = 1_000;

export interface SourcesFirst {
  /** The given ones, by which the sources report. */
  readonly events: ConnectorEvents;
  /** Resolves when a first poll is committed, when the sources run elsewhere, or after a second; rejects as the signal aborts. */
  readonly underWay: (signal: AbortSignal) => Promise<void>;
}

/**
 * Lets the sources go first when a process starts. It has one thread: what the price processor loads and opens meanwhile
 * would be a fifth of the time until the first commit of a source.
 */
export function sourcesFirst(given: ConnectorEvents, clock: Clock): SourcesFirst {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const events: ConnectorEvents = {
    ...given,
    polled(event) {
      given.polled(event);
      resolve();
    },
    replicaJoined(event) {
      given.replicaJoined(event);
      if (event.sources.length === 0) resolve();
    },
  };
  return {
    events,
    async underWay(signal) {
      const over = new AbortController();
      try {
        await Promise.race([begun, clock.sleep(PATIENCE_MS, AbortSignal.any([signal, over.signal]))]);
      } finally {
        over.abort();
      }
    },
  };
}
