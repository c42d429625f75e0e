import { BYTES } from './json-bytes.ts';

const { QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;

const STEP_BYTES = 1024 * 1024;

/**
 * Finds the end of a JSON value that is too long or too deep to be read, without reading it: brackets and strings are
 * followed, the grammar is not checked. The value may come in parts.
 */
export class ValueSkimmer {
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** Another value. */
  begin(): void {
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
  }

  /** Where the value ends; its next part lies from `start` to `end`. -1 when it goes on. */
  skim(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const byte = bytes[at];
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) {
          this.#inString = false;
          if (this.#depth === 0) return at + 1;
        }
      } else if (byte === QUOTE) this.#inString = true;
      else if (opens(byte)) this.#depth += 1;
      else if (closes(byte)) {
        // A bracket that was never opened belongs to the object or array around a number.
        if (this.#depth === 0) return at;
        this.#depth -= 1;
        if (this.#depth === 0) return at + 1;
      } else if (this.#depth === 0 && separates(byte)) return at;
    }
    return -1;
  }
}

/** The same for a value that is there as a whole. Stops after each MiB, so that other work gets its turn. */
export function* skipValue(bytes: Uint8Array, start: number, end: number): Generator<void, number> {
  const skimmer = new ValueSkimmer();
  for (let at = start; ; ) {
    const stopAt = Math.min(end, at + STEP_BYTES);
    const found = skimmer.skim(bytes, at, stopAt);
    if (found >= 0) return found;
    if (stopAt === end) return end;
    yield;
    at = stopAt;
  }
}

function opens(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

function closes(byte: number | undefined): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

function separates(byte: number | undefined): boolean {
  return byte === COMMA || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
