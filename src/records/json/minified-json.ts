import { BYTES } from './json-bytes.ts';
import type { JsonScanner } from './json-scanner.ts';
import { toJsonText } from './json-value.ts';

const { QUOTE, BACKSLASH, OPEN_BRACE, OPEN_BRACKET } = BYTES;
const SPACE = 0x20;

export function isMinified(json: JsonScanner, start: number, end: number): boolean {
  const { bytes } = json;
  const first = bytes[start];
  const isContainer = first === OPEN_BRACE || first === OPEN_BRACKET;
  if (!isContainer && first !== QUOTE) return true;
  if (isContainer && json.duplicateKeys > 0) return false;
  let inString = false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === BACKSLASH || (byte <= SPACE && !inString)) return false;
    if (byte === QUOTE) inString = !inString;
  }
  return true;
}

export function minified(json: JsonScanner, start: number, end: number): string {
  const { bytes } = json;
  const first = bytes[start];
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET)
    return first === QUOTE ? stringText(bytes, start, end) : bytes.toString('latin1', start, end);
  if (json.duplicateKeys > 0) return toJsonText(json.value(start, end));
  let text = '';
  let from = start;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      const close = stringEnd(bytes, at);
      if (close < 0) {
        text += bytes.toString('utf8', from, at) + stringText(bytes, at, -close);
        from = -close;
      }
      at = Math.abs(close) - 1;
    } else if (byte <= SPACE) {
      text += bytes.toString('utf8', from, at);
      from = at + 1;
    }
  }
  return text + bytes.toString('utf8', from, end);
}

function stringText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text;
}

// Negative where the string has escapes.
function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  let hasEscapes = false;
  while (bytes[at] !== QUOTE) {
    if (bytes[at] === BACKSLASH) {
      hasEscapes = true;
      at += 1;
    }
    at += 1;
  }
  return hasEscapes ? -(at + 1) : at + 1;
}
