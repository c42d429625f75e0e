import type { Clock } from '../support/clock.ts';
import type { BulkPrices, BulkResponse, PriceKind, PriceQuestion } from './bulk-prices.ts';
import { CallPatience } from './call-patience.ts';
import { CallSlots } from './call-slots.ts';

/** Calls for what is suspected to hang or to spoil them, beside those that the settings allow. */
const SUSPECTED_AT_ONCE = 2;

/** For so long an outage is believed to last without another look at others. */
const OUTAGE_BELIEVED_MS = 20_000;

/**
 * The calls for one kind of prices, each one attempt. Kinds share no slots, and suspected items
 * take none of those that the others need: so a call that hangs holds up only calls of its own sort.
 */
export class KindCalls {
  readonly #kind: PriceKind;
  readonly #prices: BulkPrices;
  readonly #clock: Clock;
  readonly #slots: CallSlots;
  readonly #suspectedSlots = new CallSlots(SUSPECTED_AT_ONCE);
  readonly #aloneSlots = new CallSlots(SUSPECTED_AT_ONCE);
  /** With full batches, and with parts of one and single items: these are answered sooner. */
  readonly #patience: { readonly usual: CallPatience; readonly suspected: CallPatience };
  #succeededAtMs = Number.NEGATIVE_INFINITY;
  #outageSeenMs = Number.NEGATIVE_INFINITY;
  /** An item of the call that was answered last; none before. */
  answeredLast: readonly PriceQuestion[] = [];
  /** Items that were refused alone since the last success. */
  refusedAlone = 0;

  constructor(
    kind: PriceKind,
    options: { readonly prices: BulkPrices; readonly concurrency: number; readonly clock: Clock },
  ) {
    this.#kind = kind;
    this.#prices = options.prices;
    this.#clock = options.clock;
    this.#slots = new CallSlots(options.concurrency);
    const { clock } = options;
    this.#patience = { usual: new CallPatience(clock), suspected: new CallPatience(clock) };
  }

  /** Not even others, asked for alone, were answered. */
  sawOutage(): void {
    this.#outageSeenMs = this.#clock.monotonicMs();
  }

  /** Many batches fail in an outage: one of them looks at others for all. */
  get isOutageBelieved(): boolean {
    return (
      this.#outageSeenMs > this.#succeededAtMs && this.#clock.monotonicMs() < this.#outageSeenMs + OUTAGE_BELIEVED_MS
    );
  }

  /** Calls took too long, and no item was to blame. */
  beMorePatient(): void {
    this.#patience.usual.stretch();
    this.#patience.suspected.stretch();
  }

  hasSucceededSince(ms: number): boolean {
    return this.#succeededAtMs > ms;
  }

  /** @param role `usual` until there is a suspicion; `alone` for what is known to spoil calls. */
  ask(
    questions: readonly PriceQuestion[],
    role: 'usual' | 'suspected' | 'alone',
    { called, signal }: { readonly called: () => void; readonly signal: AbortSignal },
  ): Promise<BulkResponse> {
    const patience = this.#patience[role === 'usual' ? 'usual' : 'suspected'];
    const slots = { usual: this.#slots, suspected: this.#suspectedSlots, alone: this.#aloneSlots }[role];
    return slots.use(async () => {
      called();
      const startedMs = this.#clock.monotonicMs();
      const answers = await this.#prices.ask(this.#kind, questions, signal, patience.ms);
      this.#succeededAtMs = this.#clock.monotonicMs();
      this.answeredLast = questions.slice(0, 1);
      this.refusedAlone = 0;
      patience.took(this.#succeededAtMs - startedMs);
      return answers;
    }, signal);
  }
}
