import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { bulkFailureOf, mayBeSize } from './bulk-failure.ts';
import type { RefusedCall } from './bulk-limits.ts';
import type { BulkResponse, PriceQuestion } from './bulk-prices.ts';
import type { KindCalls } from './kind-calls.ts';

export interface SharedCallsOptions {
  readonly calls: Pick<KindCalls, 'ask'>;
  /** How long a small call waits for others; 0: it goes alone. */
  readonly togetherMs: number;
  readonly clock: Clock;
  /** The items of a call at most. */
  readonly most: () => number;
  readonly onAnswered: (items: number) => void;
  /** A call of so many items failed, and its members are asked for alone. */
  readonly onDivided: (items: number, error: ConnectorError) => void;
  /** A call was refused for what may be its size, and each of its members was answered. */
  readonly onTooLarge: (largestMember: number, call: RefusedCall) => void;
}

interface Asking {
  /** Called for each call that is made for it; a call that is shared is that of the first member. */
  readonly called: () => void;
  readonly signal: AbortSignal;
}

interface Member extends Asking {
  readonly questions: readonly PriceQuestion[];
  readonly response: PromiseWithResolvers<BulkResponse>;
}

/**
 * Small calls for one kind that partitions make at about the same moment, as one call. Each partition gets the answers to
 * its own questions, and writes them with its own writer. A call that one item may have spoilt is made again at once, for
 * each member alone: so the item holds up those of other partitions for one call and no longer.
 */
export class SharedCalls {
  readonly #options: SharedCallsOptions;
  #open: Member[] = [];

  constructor(options: SharedCallsOptions) {
    this.#options = options;
  }

  /** @throws like `KindCalls.ask`. */
  ask(questions: readonly PriceQuestion[], asking: Asking): Promise<BulkResponse> {
    const { calls, togetherMs, most } = this.#options;
    const isSmall = 2 * questions.length <= most();
    if (togetherMs === 0 || !isSmall) return calls.ask(questions, 'usual', asking);
    const member = { ...asking, questions, response: Promise.withResolvers<BulkResponse>() };
    if (!this.#fits(questions)) this.#open = [];
    this.#open.push(member);
    if (this.#open.length === 1) this.#departLater(this.#open);
    return untilAborted(member.response.promise, member.signal);
  }

  /** With those that wait: each isin comes once in a call. */
  #fits(questions: readonly PriceQuestion[]): boolean {
    const waiting = this.#open.flatMap((member) => member.questions);
    const isins = new Set(waiting.map(({ isin }) => isin));
    return waiting.length + questions.length <= this.#options.most() && !questions.some(({ isin }) => isins.has(isin));
  }

  async #departLater(members: Member[]): Promise<void> {
    const { clock, togetherMs } = this.#options;
    await clock.sleep(togetherMs);
    if (this.#open === members) this.#open = [];
    const present = members.filter(({ signal }) => !signal.aborted);
    const [first] = present;
    if (first === undefined) return;
    if (present.length === 1) await this.#askAlone(first);
    else await this.#askTogether(present, first);
  }

  async #askTogether(members: readonly Member[], { called }: Member): Promise<void> {
    const { calls, clock, onAnswered, onDivided, onTooLarge } = this.#options;
    const questions = members.flatMap((member) => member.questions);
    const everyone = new EndOfAll(members.map(({ signal }) => signal));
    const askedMs = clock.monotonicMs();
    try {
      const response = await calls.ask(questions, 'usual', { called, signal: everyone.signal });
      onAnswered(questions.length);
      shareOut(members, response);
    } catch (error) {
      if (!(error instanceof ConnectorError) || bulkFailureOf(error).kind === 'denied') {
        for (const { response } of members) response.reject(error);
        return;
      }
      onDivided(questions.length, error);
      const answered = await Promise.all(members.map((member) => this.#askAlone(member)));
      const largest = Math.max(...members.map((member) => member.questions.length));
      const call = { refused: questions.length, askedMs };
      if (mayBeSize(bulkFailureOf(error)) && answered.every(Boolean)) onTooLarge(largest, call);
    } finally {
      everyone.forget();
    }
  }

  /** Whether it was answered. */
  #askAlone({ questions, response, called, signal }: Member): Promise<boolean> {
    return this.#options.calls.ask(questions, 'usual', { called, signal }).then(
      (own) => {
        response.resolve(own);
        return true;
      },
      (error: unknown) => {
        response.reject(error);
        return false;
      },
    );
  }
}

/** The counts of the whole response go to the first. */
function shareOut(members: readonly Member[], { answers, ...counts }: BulkResponse): void {
  let from = 0;
  for (const { questions, response } of members) {
    const own = answers.slice(from, from + questions.length);
    const nothing = { drift: 0, roundedNumbers: 0, errorsFlagDiffers: false };
    response.resolve({ answers: own, ...(from === 0 ? counts : nothing) });
    from += questions.length;
  }
}

/** Aborts when the last of these signals has: a partition that is lost takes no call from the others. */
class EndOfAll {
  readonly #ended = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #look = () => {
    const [last] = this.#signals;
    if (last !== undefined && this.#signals.every(({ aborted }) => aborted)) this.#ended.abort(last.reason);
  };

  constructor(signals: readonly AbortSignal[]) {
    this.#signals = signals;
    for (const signal of signals) signal.addEventListener('abort', this.#look);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  forget(): void {
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#look);
  }
}
