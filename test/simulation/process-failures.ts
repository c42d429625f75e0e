import type { CoreResult } from '../../src/prices/core/core-messages.ts';

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

/** The failures that one process has reported. */
export class ProcessFailures {
  readonly #reported = new Set<string>();

  reported(kind: string, { instrument, problem }: Failure): void {
    this.#reported.add(`${kind} ${instrument.id} ${problem}`);
  }

  violationsOf({ kind }: { readonly kind: string }, { instrument, problem, offsets, isDeadLetter }: Failure): string[] {
    const isNews = !this.#reported.has(`${kind} ${instrument.id} ${problem}`);
    if (isDeadLetter === (offsets.length > 0 || isNews)) return [];
    return [`a failure of ${instrument.id} is ${isDeadLetter ? '' : 'no '}dead letter`];
  }
}
