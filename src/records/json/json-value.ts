/** A JSON number as it was written: "1.0" and "1e0" stay different texts, and no number becomes a float. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON value. Objects are maps, so that a key named __proto__ is a key like any other. */
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

/** A value as minified JSON: numbers as they were written, lone surrogates as escapes, so always valid UTF-8. */
export function toJsonText(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof JsonNumber) return value.text;
  if (isArray(value)) return `[${value.map(toJsonText).join(',')}]`;
  return `{${[...value].map(([key, member]) => `${JSON.stringify(key)}:${toJsonText(member)}`).join(',')}}`;
}

export function toIndentedJson(value: JsonValue, indent = ''): string {
  const inner = `${indent}  `;
  const over = (open: string, lines: readonly string[], close: string) =>
    lines.length === 0 ? open + close : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${indent}${close}`;
  if (value instanceof Map) {
    const member = ([key, one]: [string, JsonValue]) => `${JSON.stringify(key)}: ${toIndentedJson(one, inner)}`;
    return over('{', [...value].map(member), '}');
  }
  if (value !== null && typeof value === 'object' && isArray(value as JsonValue)) {
    return over(
      '[',
      (value as readonly JsonValue[]).map((one) => toIndentedJson(one, inner)),
      ']',
    );
  }
  return toJsonText(value);
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

/** One more step of a JSON pointer (RFC 6901). A key that is no valid text is written with JSON's escapes. */
export function pointerStep(key: string | number): string {
  if (typeof key === 'number') return `/${key}`;
  const text = key.isWellFormed() ? key : JSON.stringify(key).slice(1, -1);
  return `/${text.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
