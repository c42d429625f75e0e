import { ConnectorError } from '../../errors.ts';

const SUCCESSES_BEFORE_GROWING = 10;

/**
 * How many items the next request asks for. A refusal or a cut answer halves it, down to 1; after some successes it
 * doubles again, but never back to a size that the provider refused outright.
 */
export class PageSize {
  #largest: number;
  #current: number;
  #successes = 0;

  constructor(configured: number) {
    this.#largest = configured;
    this.#current = configured;
  }

  get items(): number {
    return this.#current;
  }

  failed(error: unknown): void {
    if (!(error instanceof ConnectorError) || !asksForLess(error)) return;
    this.#successes = 0;
    this.#current = Math.max(1, Math.floor(this.#current / 2));
    // Slowness passes; a size that was refused stays refused.
    if (error.code !== 'PROVIDER_TIMEOUT') this.#largest = this.#current;
  }

  succeeded(): void {
    this.#successes += 1;
    if (this.#successes < SUCCESSES_BEFORE_GROWING) return;
    this.#successes = 0;
    this.#current = Math.min(this.#largest, this.#current * 2);
  }
}

// A plain 400 may mean "too many" as well: the reference interface does not show its error bodies (part 7).
function asksForLess(error: ConnectorError): boolean {
  return error.action === 'askForLess' || (error.code === 'PROVIDER_REFUSED' && error.fields.status === 400);
}
