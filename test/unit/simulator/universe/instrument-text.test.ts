import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLossless } from '../../../../src/simulator/ledger/lossless-json.ts';
import { createInstrumentText } from '../../../../src/simulator/universe/instrument-text.ts';
import { type InstrumentVersion, ISSUED } from '../../../../src/simulator/universe/instrument-version.ts';
import { hasIsinForm } from '../../../../src/simulator/universe/isin.ts';
import { LIST_FORM } from '../../../../src/simulator/universe/text-template.ts';
import { UNDERLYINGS } from '../../../../src/simulator/universe/vocabulary.ts';
import { FIELDS, VALUES_SEEN } from '../interface-fields.ts';

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

test('every instrument of a list has every field of an Instrument, absent ones as null', () => {
  const top = Object.keys(FIELDS).filter((field) => !field.includes('.'));
  for (const row of listed) assert.deepEqual(Object.keys(JSON.parse(row)).sort(), top.toSorted());
});

for (const [field, values] of Object.entries(VALUES_SEEN)) {
  test(`every value seen of ${field} occurs, and no other`, () => {
    const found = new Set<string>();
    const look = (value: unknown, path: string): void => {
      if (Array.isArray(value)) for (const item of value) look(item, path);
      else if (typeof value === 'object' && value !== null) {
        for (const [key, item] of Object.entries(value)) look(item, path === '' ? key : `${path}.${key}`);
      } else if (path === field && typeof value === 'string') found.add(value);
    };
    for (const row of listed) look(JSON.parse(row), '');
    assert.deepEqual([...found].sort(), values.toSorted());
  });
}

test('numbers come with 18 and 28 fraction digits, trailing zeros, exponents and minus signs', () => {
  const all = listed.join('\n');
  assert.match(all, /:\d+\.\d{18}[,}]/);
  assert.match(all, /:\d+\.\d{28}[,}]/);
  assert.match(all, /:\d+\.\d*0[,}]/);
  assert.match(all, /:\d+(\.\d+)?[eE]-?\d+[,}]/);
  assert.match(all, /:-\d+\.\d+[,}]/);
});

test('dates and times have the forms of instrument data', () => {
  for (const row of listed) {
    const { initialFixingTime, paymentDate } = JSON.parse(row);
    assert.match(initialFixingTime, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.match(paymentDate, /^\d{4}-\d\d-\d\d$/);
  }
});

test('instruments are 8 to 9 KB', () => {
  const sizes = IDS.map((id) => Buffer.byteLength(text.write(id, ISSUED, LIST_FORM)));
  assert.ok(Math.min(...sizes) >= 8_000 && Math.max(...sizes) <= 9_000, `${Math.min(...sizes)}–${Math.max(...sizes)}`);
});

test('isins are unique and carry their check digit, those of underlyings too', () => {
  const isins = IDS.map((id) => text.isin(id, ISSUED) ?? '');
  assert.equal(new Set(isins).size, IDS.length);
  for (const isin of [...isins, ...UNDERLYINGS.map((entry) => entry.isin)]) assert.ok(hasIsinForm(isin), isin);
});

test('the text is a pure function of seed, id and version, and each of them matters', () => {
  const again = createInstrumentText({ seed: 1, myShare: 0.25 });
  const other = createInstrumentText({ seed: 2, myShare: 0.25 });
  for (const id of IDS.slice(0, 50)) {
    assert.equal(again.write(id, LATER, LIST_FORM), text.write(id, LATER, LIST_FORM));
    assert.notEqual(other.write(id, LATER, LIST_FORM), text.write(id, LATER, LIST_FORM));
    assert.notEqual(text.write(id, ISSUED, LIST_FORM), text.write(id, LATER, LIST_FORM));
  }
});

test('events leave absent values out and keep every other value', () => {
  for (const id of IDS.slice(0, 60)) {
    const list = parseLossless(text.write(id, LATER, LIST_FORM));
    const event = text.write(id, LATER, { absent: 'omit', casing: 'lower' });
    assert.ok(!event.includes(':null'));
    assert.equal(JSON.stringify(parseLossless(event)), JSON.stringify(withoutNulls(list)));
  }
});

test('capitalised keys begin with a capital letter at every level', () => {
  const event = text.write(IDS[0] ?? 0n, LATER, { absent: 'omit', casing: 'capitalised' });
  const found = new Map<string, Set<string>>();
  membersOf(JSON.parse(event), '', found);
  for (const path of found.keys()) assert.match(path, /(^|\.)[A-Z_][^.]*$/);
  assert.equal(event.length, text.write(IDS[0] ?? 0n, LATER, { absent: 'omit', casing: 'lower' }).length);
});

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (
    typeof value !== 'object' ||
    value === null ||
    (JSON as unknown as { isRawJSON(v: unknown): boolean }).isRawJSON(value)
  ) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])),
  );
}
