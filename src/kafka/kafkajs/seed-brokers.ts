import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';

/** How long a broker that left a request without a response is not the first one to be asked. */
const SILENT_MS = 60_000;

/**
 * Which broker a new client connects to first; it finds the others through that one. kafkajs always takes the first of
 * its list, and changes only when the connection fails. A broker that accepts connections and does not answer, as a
 * frozen process does, kept every new client waiting while it was frozen, even when all others were well.
 */
export class SeedBrokers {
  readonly #brokers: readonly string[];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #silentSinceMs = new Map<string, number>();

  constructor(brokers: readonly string[], clock: Clock, random: Random) {
    this.#brokers = brokers;
    this.#clock = clock;
    this.#random = random;
  }

  /** Any broker that is not known to be silent; any at all when all are silent. */
  choose(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const answering = this.#brokers.filter((broker) => {
      return nowMs - (this.#silentSinceMs.get(broker) ?? Number.NEGATIVE_INFINITY) > SILENT_MS;
    });
    const from = answering.length > 0 ? answering : this.#brokers;
    return from.slice(Math.floor(this.#random() * from.length)).slice(0, 1);
  }

  /** A request to this `host:port` got no response in time. */
  wasSilent(broker: string): void {
    if (this.#brokers.includes(broker)) this.#silentSinceMs.set(broker, this.#clock.monotonicMs());
  }
}
