import type { CoreResult } from '../../src/processor/core/core-messages.ts';
import type { AskedInstrument } from '../../src/processor/core/instrument.ts';

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

/** Answers that are owed after a spoilt call. */
const SUSPICION = 3;

/** What one process has reported of failures, and which instruments it asks for alone since they have spoilt a call. */
export class ProcessFailures {
  readonly #reported = new Set<string>();
  /** By the instruments' versions. */
  readonly #suspicion = new Map<number, Map<string, number>>();

  reported(kind: string, { instrument, problem, outcome }: Failure): void {
    this.#reported.add(`${kind} ${instrument.id} ${problem}`);
    if (outcome.kind === 'refused') this.#suspect(instrument.version, kind, SUSPICION);
  }

  priced({ version }: AskedInstrument, kind: string): void {
    const suspicion = this.#suspicion.get(version)?.get(kind) ?? 0;
    if (suspicion > 0) this.#suspect(version, kind, suspicion - 1);
  }

  isSuspect({ version }: AskedInstrument, kind: string): boolean {
    return (this.#suspicion.get(version)?.get(kind) ?? 0) > 0;
  }

  violationsOf({ kind }: { readonly kind: string }, { instrument, problem, offsets, isDeadLetter }: Failure): string[] {
    const isNews = !this.#reported.has(`${kind} ${instrument.id} ${problem}`);
    if (isDeadLetter === (offsets.length > 0 || isNews)) return [];
    return [`a failure of ${instrument.id} is ${isDeadLetter ? '' : 'no '}dead letter`];
  }

  #suspect(version: number, kind: string, suspicion: number): void {
    const known = this.#suspicion.get(version) ?? new Map<string, number>();
    this.#suspicion.set(version, known.set(kind, suspicion));
  }
}
