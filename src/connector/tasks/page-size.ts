import { ConnectorError, type ErrorCode } from '../../errors.ts';

const SUCCESSES_BEFORE_GROWING = 10;
const MALFORMED: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'PROTOCOL_VIOLATION']);

/**
 * How many items a request asks for. A refusal or a cut answer halves it, down to 1; after some successes it doubles
 * again, but never back to a size that the provider refused outright. A provider that refuses even a single item means
 * something else, and what was learnt from it is forgotten: else a bad hour of the provider would leave us with pages
 * of one row for good.
 */
export class PageSize {
  readonly #configured: number;
  readonly #closesIn: boolean;
  #largest: number;
  #current: number;
  #successes = 0;

  /**
   * @param closesIn whether a response that cannot be read halves it too: one item can spoil the response of all, and
   *   those before it come alone then.
   */
  constructor(configured: number, closesIn = false) {
    this.#configured = configured;
    this.#closesIn = closesIn;
    this.#largest = configured;
    this.#current = configured;
  }

  /** Makes a request for as many items as may be asked for now, and learns from what comes of it. */
  async ask<Answer>(request: (items: number) => Promise<Answer>): Promise<Answer> {
    const items = this.#current;
    try {
      const answer = await request(items);
      this.#succeeded();
      return answer;
    } catch (error) {
      if (error instanceof ConnectorError) {
        const isMalformed = this.#closesIn && MALFORMED.has(error.code);
        if (isMalformed || asksForLess(error)) this.#failed(items, isMalformed || error.code === 'PROVIDER_TIMEOUT');
      }
      throw error;
    }
  }

  /**
   * Learns from an answer that says itself how many items one holds at most (`maxEvents` in `links.next`). One that
   * holds more than it says means something else. It is asked for more again after a while, and says so again.
   */
  named(most: number | null, held: number): void {
    if (most === null || most < held || most >= this.#current) return;
    this.#successes = 0;
    this.#current = most;
  }

  #failed(items: number, isPassing: boolean): void {
    this.#successes = 0;
    this.#current = Math.max(1, Math.floor(items / 2));
    // Slowness passes, and so does one bad item; a size that was refused stays refused.
    if (isPassing) return;
    if (items === 1) this.#current = this.#configured;
    this.#largest = this.#current;
  }

  #succeeded(): void {
    this.#successes += 1;
    if (this.#successes < SUCCESSES_BEFORE_GROWING) return;
    this.#successes = 0;
    this.#current = Math.min(this.#largest, this.#current * 2);
  }
}

// A plain 400 may mean "too many" as well: the reference interface does not show its error bodies (part 7 of
// src/provider/README.md).
function asksForLess(error: ConnectorError): boolean {
  return error.action === 'askForLess' || (error.code === 'PROVIDER_REFUSED' && error.fields.status === 400);
}
