import type { ReadableRecord, ReadableValue } from '../../avro/record-reader.ts';

/** Replaces the URL of a check, which allows trading. Exported for tests. */
export const HIDDEN_URL = '[hidden; --show-url shows it]';
const URL_FIELD = /(^|\/)simulation[-_]?url$/i;
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

function isRecord(value: ReadableValue): value is ReadableRecord {
  return value !== null && typeof value === 'object' && !isList(value);
}

function isList(value: object): value is readonly ReadableValue[] {
  return Array.isArray(value);
}
