import type { ReadableValue } from '../avro/record-reader.ts';
import { printable } from './output.ts';

/** Longer names push only their own value to the right. */
const LONGEST_ALIGNED = 40;

/** A record of a topic, or one that would be written: then it has no place there yet. */
interface PrintedRecord {
  readonly topic: string;
  readonly key: string | null;
  readonly value: ReadableValue;
  readonly partition?: number;
  readonly offset?: string;
  readonly timestamp?: string;
  /** Why it would be a dead letter, and where in it the problem is. */
  readonly deadLetter?: { readonly pointer: string; readonly reason: string } | null;
}

/** A line with topic, key, place and time; below it the fields that have a value, and an empty line. */
export function recordText({ topic, key, value, partition, offset, timestamp, deadLetter }: PrintedRecord): string {
  const place = partition === undefined ? [] : [`partition ${partition}`, `offset ${offset}`];
  const why = deadLetter
    ? [`${deadLetter.reason} at ${deadLetter.pointer === '' ? 'the whole' : deadLetter.pointer}`]
    : [];
  const head = [
    topic,
    key === null ? 'no key' : `key ${key}`,
    ...place,
    ...(timestamp === undefined ? [] : [timestamp]),
    ...why,
  ];
  return `${printable(head.join(', '))}\n${bodyText(value).replace(/^(?=.)/gm, '  ')}\n`;
}

function bodyText(value: ReadableValue): string {
  if (value === null) return 'deleted\n';
  return typeof value === 'object' ? fieldsText(value) : `${printable(String(value))}\n`;
}

/** A record as lines of name and value, without what it does not have. */
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
