import { JsonNumber, type JsonValue } from './exact-json.ts';

/** A value as minified JSON: numbers as they were written, lone surrogates as escapes, so always valid UTF-8. */
export function toJsonText(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof JsonNumber) return value.text;
  if (isArray(value)) return `[${value.map(toJsonText).join(',')}]`;
  return `{${[...value].map(([key, member]) => `${JSON.stringify(key)}:${toJsonText(member)}`).join(',')}}`;
}

/** What a value is, in words that reveal nothing of it. */
export function describeJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (value instanceof JsonNumber) return 'a number';
  return isArray(value) ? 'an array' : 'an object';
}

/** Array.isArray does not narrow readonly arrays. */
export function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** One more step of a JSON pointer (RFC 6901). A key that is no valid text is written with JSON's escapes. */
export function pointerStep(key: string | number): string {
  if (typeof key === 'number') return `/${key}`;
  const text = key.isWellFormed() ? key : JSON.stringify(key).slice(1, -1);
  return `/${text.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
