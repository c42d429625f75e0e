import type { AskedInstrument } from './instrument.ts';

/** What a record of an instruments topic asks of us. */
export type InputMeaning =
  | { readonly kind: 'price'; readonly instrument: AskedInstrument }
  /** There is nothing to ask for: a counted pass. */
  | { readonly kind: 'noIsin' }
  /** The instrument has left: a counted pass, and a tombstone. */
  | { readonly kind: 'gone' }
  /** The record is not one of an instrument: a dead letter. */
  | { readonly kind: 'unreadable'; readonly key: string | null; readonly value: Buffer; readonly reason: string };

/** One or more records of one id that one result will answer. */
export interface Input {
  readonly id: string;
  /** Ascending. The last one is its place in the queue; those before are records that it has superseded. */
  readonly offsets: readonly bigint[];
  readonly readAtMs: number;
  /** When the first of its records that are not answered was read, in time outside of commits. */
  readonly waitsSinceMs: number;
  readonly meaning: InputMeaning;
}

/**
 * The records that were read and are in no batch yet, oldest first. A later record of an id takes the place of the
 * earlier one, but at the end of the queue: its result may not be committed before those of the records between, whose
 * offsets are smaller than its own, or a crash would have it answered twice.
 */
export class InputQueue {
  readonly #inputs = new Map<string, Input>();

  get size(): number {
    return this.#inputs.size;
  }

  get first(): Input | undefined {
    return this.#inputs.values().next().value;
  }

  /** `superseded`: an input of the same id, in a batch, whose records this one will answer too. */
  add(input: Omit<Input, 'offsets'> & { readonly offset: bigint }, superseded: Input | null): void {
    const { offset, ...rest } = input;
    const earlier = this.#inputs.get(input.id);
    const waitsSinceMs = superseded?.waitsSinceMs ?? earlier?.waitsSinceMs ?? input.waitsSinceMs;
    const offsets = [...(superseded?.offsets ?? []), ...(earlier?.offsets ?? []), offset];
    this.#inputs.delete(input.id);
    this.#inputs.set(input.id, { ...rest, waitsSinceMs, offsets });
  }

  values(): Iterable<Input> {
    return this.#inputs.values();
  }

  has(id: string): boolean {
    return this.#inputs.has(id);
  }

  /** Takes inputs from the front, for as long as they may be taken. */
  takeWhile(most: number, mayTake: (input: Input) => boolean): Input[] {
    const taken: Input[] = [];
    for (const input of this.#inputs.values()) {
      if (taken.length >= most || !mayTake(input)) break;
      taken.push(input);
      this.#inputs.delete(input.id);
    }
    return taken;
  }
}
