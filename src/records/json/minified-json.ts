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

const STRING_OR_SPACE = /"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\n\r]+/g;

export function minified(json: JsonScanner, start: number, end: number): string {
  const isContainer = json.bytes[start] === OPEN_BRACE || json.bytes[start] === OPEN_BRACKET;
  if (isContainer && json.duplicateKeys > 0) return toJsonText(json.value(start, end));
  return json.bytes.toString('utf8', start, end).replace(STRING_OR_SPACE, (part) => {
    if (part.charCodeAt(0) !== QUOTE) return '';
    return part.includes('\\') ? JSON.stringify(JSON.parse(part)) : part;
  });
}
