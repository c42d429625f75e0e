import { FENCINGS_HEADER } from '../../kafka/offset-store.ts';
import type { ReadableRecord, ReadableValue } from '../../records/avro/record-reader.ts';
import { printable } from './output.ts';

/** This text replaces the URL of a pre-trade check, because anyone with this URL can trade. Exported for tests. */
export const HIDDEN_URL = '[hidden; --show-url shows it]';
const URL_FIELD = /(^|\/)simulation[-_]?url$/i;
/** Longer names do not widen the column of names. */
const LONGEST_ALIGNED = 40;

/** A record of a topic, or a planned record. A planned record has no partition, offset or time yet. */
interface PrintedRecord {
  readonly topic: string;
  readonly key: string | null;
  readonly value: ReadableValue;
  readonly partition?: number;
  readonly offset?: string;
  readonly timestamp?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The reason of the dead letter, and the JSON pointer to the problem in the input. */
  readonly deadLetter?: { readonly pointer: string; readonly reason: string } | null;
}

/** A line with topic, key, partition, offset and time; then the fields that have a value, and an empty line. */
export function recordText(record: PrintedRecord): string {
  const { topic, key, value, partition, offset, timestamp, headers = {}, deadLetter = deadLetterOf(headers) } = record;
  const place = partition === undefined ? [] : [`partition ${partition}`, `offset ${offset}`];
  const why = deadLetter
    ? [`${deadLetter.reason} ${deadLetter.pointer === '' ? 'in the whole input' : `at ${deadLetter.pointer}`}`]
    : [];
  const head = [topic, key === null ? 'no key' : `key ${key}`, ...place, timestamp ?? [], ...why].flat();
  const body = value === null && deadLetter ? 'no input\n' : bodyText(value, headers);
  return `${printable(head.join(', '))}\n${body.replace(/^(?=.)/gm, '  ')}\n`;
}

function deadLetterOf(headers: NonNullable<PrintedRecord['headers']>): PrintedRecord['deadLetter'] {
  const reason = headers['__connect.errors.exception.message'];
  return reason === undefined ? null : { reason, pointer: headers['spc-pointer'] ?? '' };
}

function bodyText(value: ReadableValue, headers: NonNullable<PrintedRecord['headers']>): string {
  if (value === null) {
    if (headers[FENCINGS_HEADER] !== undefined) return "the mark of an operator's command\n";
    const walk = headers['spc-walk'] === undefined ? undefined : `walk ${headers['spc-walk']}`;
    // A price's tombstone has a reason. An instrument's tombstone has an event type, or the walk that did not find it.
    const ofPrices = [headers['spc-reason'], headers['spc-problem']];
    const why = [...ofPrices, headers['spc-event-type'] ?? walk].filter((one) => one !== undefined);
    return `deleted${why.length === 0 ? '' : ` (${printable(why.join(', '))})`}\n`;
  }
  return typeof value === 'object' ? fieldsText(value) : `${printable(String(value))}\n`;
}

/** A record as lines of name and value, without nulls. */
export function fieldsText(record: ReadableValue): string {
  const rows: [string, string][] = [];
  const add = (name: string, value: ReadableValue): void => {
    if (value === null) return;
    if (typeof value !== 'object') rows.push([name, String(value)]);
    else if (isList(value)) for (const [position, item] of value.entries()) add(`${name}[${position}]`, item);
    else for (const [member, inner] of Object.entries(value)) add(name === '' ? member : `${name}.${member}`, inner);
  };
  add('', record);
  const names = rows.map(([name]) => name.length).filter((length) => length <= LONGEST_ALIGNED);
  const width = Math.max(0, ...names);
  return rows.map(([name, value]) => `${printable(name).padEnd(width)}  ${printable(value)}\n`).join('');
}

function isList(value: object): value is readonly ReadableValue[] {
  return Array.isArray(value);
}

/** Hides the URL of a pre-trade check in all fields, because any field may contain the URL. */
export function withoutUrl(check: ReadableRecord): ReadableRecord {
  const { simulationUrl: url } = check;
  const hasUrl = (member: unknown) => typeof url === 'string' && url !== '' && String(member).includes(url);
  const hidden = (name: string, member: unknown) => {
    const isUrl = URL_FIELD.test(name) || (typeof member === 'string' && hasUrl(member));
    return isUrl && member !== null ? HIDDEN_URL : member;
  };
  return JSON.parse(JSON.stringify(check, hidden));
}

export function withoutUrlIn<Holder extends { readonly value: ReadableValue }>(holder: Holder): Holder {
  const { value } = holder;
  if (value === null || typeof value !== 'object' || isList(value)) return holder;
  return { ...holder, value: withoutUrl(value as ReadableRecord) };
}
