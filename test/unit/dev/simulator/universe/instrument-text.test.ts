import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstrumentText } from '../../../../../src/dev/simulator/universe/instrument-text.ts';
import { type InstrumentVersion, ISSUED } from '../../../../../src/dev/simulator/universe/instrument-version.ts';
import { LIST_FORM } from '../../../../../src/dev/simulator/universe/text-template.ts';
import { FIELDS } from '../interface-fields.ts';

const text = createInstrumentText({ seed: 1, myShare: 0.25 });
const IDS = Array.from({ length: 400 }, (_, at) => 1_000_000n + BigInt(at * 7));
const LATER: InstrumentVersion = {
  number: 9,
  dataChanges: 2,
  adjustments: 1,
  breachedAt: ['2026-02-03 14:05:06'],
  couponsPaid: 2,
  repaidOn: '2026-02-04',
  raw: null,
};
const listed = IDS.flatMap((id, at) => text.write(id, at % 2 === 0 ? ISSUED : LATER, LIST_FORM));

/** Paths of all members, list places left out: `underlyings.monitors.level` and the JSON kind of what stands there. */
function membersOf(value: unknown, path: string, found: Map<string, Set<string>>): void {
  if (Array.isArray(value)) for (const item of value) membersOf(item, path, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const name = path === '' ? key : `${path}.${key}`;
      const kind = item === null ? 'null' : Array.isArray(item) ? 'array' : typeof item;
      found.set(name, (found.get(name) ?? new Set()).add(kind));
      membersOf(item, name, found);
    }
  }
}

test('every field of the interface occurs with a value of its type, and no other field does', () => {
  const found = new Map<string, Set<string>>();
  for (const row of listed) membersOf(JSON.parse(row), '', found);
  assert.deepEqual([...found.keys()].sort(), Object.keys(FIELDS).sort());
  for (const [field, kind] of Object.entries(FIELDS)) {
    const kinds = [...(found.get(field) ?? [])].filter((one) => one !== 'null');
    assert.deepEqual(kinds, [kind], field);
  }
});

test('numbers come with 18 and 28 fraction digits, trailing zeros, exponents and minus signs', () => {
  const all = listed.join('\n');
  assert.match(all, /:\d+\.\d{18}[,}]/);
  assert.match(all, /:\d+\.\d{28}[,}]/);
  assert.match(all, /:\d+\.\d*0[,}]/);
  assert.match(all, /:\d+(\.\d+)?[eE]-?\d+[,}]/);
  assert.match(all, /:-\d+\.\d+[,}]/);
});
