import { BYTES } from './json-bytes.ts';

const { QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;

const STEP_BYTES = 1024 * 1024;

/**
 * Finds the end of a JSON value that is too long or too deep to be read, without reading it: brackets and strings are followed,
 * the grammar is not checked. Stops after each MiB, so that other work gets its turn; returns where the value ends, or
 * where the bytes do.
 */
export function* skipValue(bytes: Buffer, start: number, end: number): Generator<void, number> {
  let depth = 0;
  let inString = false;
  let at = start;
  let stopAt = start + STEP_BYTES;
  while (at < end) {
    if (at >= stopAt) {
      yield;
      stopAt += STEP_BYTES;
    }
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (opens(byte)) depth += 1;
    else if (closes(byte)) {
      // A bracket that was never opened belongs to what stands around a number.
      if (depth === 0) return at;
      depth -= 1;
    } else if (depth === 0 && separates(byte)) return at;
    at += 1;
    if (depth === 0 && !inString && (closes(byte) || byte === QUOTE)) return at;
  }
  return Math.min(at, end);
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
