declare global {
  interface JSON {
    /** `stringify` writes this text unchanged. Node.js has this function; TypeScript's types do not have it yet. */
    rawJSON(text: string): object;
  }
}

/** A JSON number with its original text: "1.0" and "1e0" stay different texts, and no number becomes a float. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  toJSON(): object {
    return JSON.rawJSON(this.text);
  }
}

/** A JSON value. Objects are maps, so that a key named __proto__ is an ordinary key. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonValue>;

export function parseJson(text: string): JsonValue {
  return JSON.parse(text, (_key, value, context?: { readonly source?: string }) => {
    if (typeof value === 'number') return new JsonNumber(context?.source ?? '');
    return isPlainObject(value) ? new Map(Object.entries(value)) : value;
  });
}

function isPlainObject(value: unknown): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Returns a value as JSON. Numbers keep their text; lone surrogates become escapes, so the text is valid UTF-8. */
export function toJsonText(value: JsonValue, indent = 0): string {
  return JSON.stringify(value, (_key, one: JsonValue) => (one instanceof Map ? Object.fromEntries(one) : one), indent);
}

export function describeJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (value instanceof JsonNumber) return 'a number';
  return isArray(value) ? 'an array' : 'an object';
}

export function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Returns one step of a JSON pointer (RFC 6901). A key with a lone surrogate is written with JSON's escapes. */
export function pointerStep(key: string | number): string {
  if (typeof key === 'number') return `/${key}`;
  const text = key.isWellFormed() ? key : JSON.stringify(key).slice(1, -1);
  return `/${text.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
