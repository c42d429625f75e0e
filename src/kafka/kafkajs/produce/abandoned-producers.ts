import type { Producer } from 'kafkajs';
import type { Clock } from '../../../support/clock.ts';
import { within } from '../../../support/deadline.ts';
import type { Log } from '../../../support/log.ts';
import { kafkaReason } from '../kafkajs-errors.ts';
import type { KafkaTuning } from '../tuning.ts';

interface AbandonedOptions {
  readonly tuning: Pick<KafkaTuning, 'disconnectMs'>;
  readonly clock: Clock;
  readonly log: Log;
}

type Ending = 'to end its work' | 'to disconnect';

/** The producers that a writer uses no more. */
export class AbandonedProducers {
  readonly #options: AbandonedOptions;
  readonly #fields: Readonly<Record<string, unknown>>;
  /** The last work of each, while a request of it may be under way. */
  readonly #working = new Set<Promise<unknown>>();
  /** Those that are not disconnected yet. */
  readonly #connected = new Set<Promise<void>>();

  constructor(options: AbandonedOptions, fields: Readonly<Record<string, unknown>>) {
    this.#options = options;
    this.#fields = fields;
  }

  /**
   * Never aborts (an abort can overtake a produce request that is still under way) and does not wait; the next holder's
   * fence ends the transaction. Disconnects only after the last work has ended, since kafkajs would connect again before.
   */
  add(producer: Producer, work: Promise<void> | undefined): void {
    const ended = Promise.allSettled([work]).finally(() => this.#working.delete(ended));
    this.#working.add(ended);
    const gone = ended
      .then(() => producer.disconnect())
      .catch((reason) => this.#note(reason, 'to disconnect'))
      .finally(() => this.#connected.delete(gone));
    this.#connected.add(gone);
  }

  /** Resolves when no work of theirs is under way any more, or after a while. */
  async idle(): Promise<void> {
    await this.#allOf(this.#working, 'to end its work');
  }

  async disconnected(): Promise<void> {
    await this.#allOf(this.#connected, 'to disconnect');
  }

  async #allOf(promises: ReadonlySet<Promise<unknown>>, awaited: Ending): Promise<void> {
    const { clock, tuning } = this.#options;
    const late = () => new Error('kafkajs still waits for responses');
    const over = Promise.allSettled(promises).then(() => {});
    await within(over, tuning.disconnectMs, clock, late).catch((reason) => this.#note(reason, awaited));
  }

  #note(reason: unknown, awaited: Ending): void {
    this.#options.log.debug({ ...this.#fields, awaited, reason: kafkaReason(reason) }, 'producer abandoned');
  }
}
