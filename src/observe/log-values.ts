import { isSecretKey, REDACTED, type Redaction } from './redaction.ts';

const MAXIMUM_TEXT = 2_048;
const MAXIMUM_ENTRIES = 50;
const MAXIMUM_DEPTH = 6;
const MAXIMUM_CAUSES = 5;
const MAXIMUM_STACK_LINES = 30;
/** The most values of one log line. After this number of values, each object or list becomes `[…]`. */
const MAXIMUM_LINE_VALUES = 500;

/** Control characters, line and paragraph separators, and marks that change the direction of text. */
export const CONTROL = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Makes any value safe for a log line: removes secrets, escapes control characters and limits every size. Never throws.
 * Returns new plain objects; does not change or keep the caller's objects. With `stacks`, errors show their stack.
 */
export function createLogValues(redaction: Pick<Redaction, 'redact'>, stacks: boolean) {
  let left = 0;

  function cleanText(text: string): string {
    // Redaction comes before the cut, because redaction does not find a secret that is cut in two.
    const whole = redaction.redact(text);
    const cut = whole.slice(0, MAXIMUM_TEXT);
    const escaped = cut.toWellFormed().replace(CONTROL, escapeCharacter);
    return cut === whole ? escaped : `${escaped}… (${whole.length} characters)`;
  }

  function clean(value: unknown, depth: number): unknown {
    left--;
    if (value === null || typeof value === 'boolean' || value === undefined) return value;
    if (typeof value === 'string') return cleanText(value);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' && typeof value !== 'function') return `[${typeof value}]`;
    if (depth >= MAXIMUM_DEPTH || left <= 0) return '[…]';
    if (value instanceof Error) return cleanError(value, depth, 0);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value) || value instanceof Set) return cleanList([...value.values()], depth);
    if (value instanceof Map) return clean(Object.fromEntries(value), depth);
    if ('toJSON' in value && typeof value.toJSON === 'function') return clean(value.toJSON(), depth + 1);
    if (typeof value === 'function') return '[function]';
    return cleanEntries(Object.entries(value), depth);
  }

  function cleanList(items: readonly unknown[], depth: number): unknown[] {
    const kept = items.slice(0, MAXIMUM_ENTRIES).map((item) => clean(item, depth + 1));
    return items.length > MAXIMUM_ENTRIES ? [...kept, `… (${items.length} items)`] : kept;
  }

  function cleanEntries(entries: readonly (readonly [string, unknown])[], depth: number): Record<string, unknown> {
    const kept = entries
      .slice(0, MAXIMUM_ENTRIES)
      .map(([key, value]) => [cleanText(key), isSecretKey(key, value) ? REDACTED : clean(value, depth + 1)]);
    if (entries.length > MAXIMUM_ENTRIES) kept.push(['…', `${entries.length} fields`]);
    return Object.fromEntries(kept);
  }

  function cleanError(error: Error, depth: number, causes: number): Record<string, unknown> {
    const { name, message, stack, cause, ...facts } = error as Error & Readonly<Record<string, unknown>>;
    const lines = stacks && stack ? stack.split('\n').slice(0, MAXIMUM_STACK_LINES) : [];
    // The error of a failed connection has an empty message, and contains one error for each address.
    const several = error instanceof AggregateError ? error.errors.slice(0, MAXIMUM_CAUSES) : undefined;
    const inner = cause instanceof Error && causes < MAXIMUM_CAUSES ? cleanError(cause, depth, causes + 1) : undefined;
    return {
      type: cleanText(String(name)),
      message: cleanText(String(message)),
      // The code, the action, and all other properties of the error.
      ...cleanEntries(Object.entries(facts).filter(isGiven), depth + 1),
      ...(lines.length > 0 && { stack: lines.map((line) => cleanText(line.trim())) }),
      ...(several && { errors: cleanList(several, depth + 1) }),
      ...(cause !== undefined && { cause: inner ?? (cause instanceof Error ? '[…]' : clean(cause, depth + 1)) }),
    };
  }

  return {
    text: cleanText,
    fields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
      left = MAXIMUM_LINE_VALUES;
      try {
        return cleanEntries(Object.entries(fields), 0);
      } catch {
        // A getter or toJSON has thrown. The message is still logged, without fields.
        return { fields: '[unreadable]' };
      }
    },
  };
}

function isGiven([, value]: readonly [string, unknown]): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined;
}

function escapeCharacter(character: string): string {
  const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  return short[character] ?? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
