import type { ReadableRecord, ReadableValue } from '../../avro/record-reader.ts';

/** Replaces the URL of a check, which allows trading. Exported for tests. */
export const HIDDEN_URL = '[hidden; --show-url shows it]';
const URL_FIELD = /(^|\/)simulation[-_]?url$/i;
/** Control characters, and those that change the direction of writing. */
const CONTROL = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The check without its URL, wherever it is in it. */
export function withoutUrl(check: ReadableRecord): ReadableRecord {
  const url = typeof check.simulationUrl === 'string' && check.simulationUrl !== '' ? check.simulationUrl : null;
  const hide = (value: ReadableValue): ReadableValue => {
    if (typeof value === 'string') return url !== null && value.includes(url) ? HIDDEN_URL : value;
    if (value === null || typeof value !== 'object') return value;
    if (isList(value)) return value.map(hide);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        member !== null && URL_FIELD.test(name) ? HIDDEN_URL : hide(member),
      ]),
    );
  };
  return hide(check) as ReadableRecord;
}

/** The same for a holder with a check in its value; anything else is unchanged. */
export function withoutUrlIn<Holder extends { readonly value: ReadableValue }>(holder: Holder): Holder {
  const { value } = holder;
  return isRecord(value) ? { ...holder, value: withoutUrl(value) } : holder;
}

/** A check as lines of name and value, without what it does not have. */
export function checkAsTable(check: ReadableRecord): string {
  const lines: [string, string][] = [];
  const add = (name: string, value: ReadableValue): void => {
    if (value === null) return;
    if (typeof value !== 'object') {
      lines.push([name.replace(CONTROL, ' '), String(value).replace(CONTROL, ' ')]);
    } else if (isList(value)) {
      for (const [position, item] of value.entries()) add(`${name}[${position}]`, item);
    } else {
      for (const [member, inner] of Object.entries(value)) add(name === '' ? member : `${name}.${member}`, inner);
    }
  };
  add('', check);
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

function isRecord(value: ReadableValue): value is ReadableRecord {
  return value !== null && typeof value === 'object' && !isList(value);
}

function isList(value: object): value is readonly ReadableValue[] {
  return Array.isArray(value);
}
