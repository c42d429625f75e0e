import type { ReadableRecord, ReadableValue } from '../avro/record-reader.ts';
import { pointerStep } from '../json/json-text.ts';

/** A field in which two records differ. */
export interface FieldDifference {
  /** JSON pointer, in the schema's spelling. */
  readonly pointer: string;
  readonly provider: ReadableValue;
  readonly topic: ReadableValue;
}

const MOST_FIELDS = 200;

/** Every field in which the records differ, in the order of the schema; one that is absent counts as null. */
export function fieldDifferences(provider: ReadableRecord, topic: ReadableRecord): readonly FieldDifference[] {
  const found: FieldDifference[] = [];
  const compare = (pointer: string, ours: ReadableValue, theirs: ReadableValue): void => {
    if (found.length >= MOST_FIELDS || ours === theirs) return;
    if (!isBranch(ours) || !isBranch(theirs) || Array.isArray(ours) !== Array.isArray(theirs)) {
      found.push({ pointer, provider: ours, topic: theirs });
      return;
    }
    const [left, right] = [new Map(Object.entries(ours)), new Map(Object.entries(theirs))];
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      compare(`${pointer}${pointerStep(name)}`, left.get(name) ?? null, right.get(name) ?? null);
    }
  };
  compare('', provider, topic);
  return found;
}

function isBranch(value: ReadableValue): value is ReadableRecord | readonly ReadableValue[] {
  return value !== null && typeof value === 'object';
}
