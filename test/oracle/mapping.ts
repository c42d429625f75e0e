// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import type { AssumedZone } from '../../src/records/avro/instant.ts';
import type { AvroRecord, AvroValue } from '../../src/records/avro/record-encoder.ts';
import type { RecordNode } from '../../src/records/avro/schema.ts';
import type { OnMismatch } from '../../src/records/decoding/decoded-list.ts';
import type { JsonObject, JsonValue } from '../../src/records/json/json-value.ts';
import { describeJson, isArray, pointerStep, toJsonText } from '../../src/records/json/json-value.ts';
import {
  compileMapping,
  type MappingNode,
  type MemberMapping,
  type RecordMapping,
  type WholeMapping,
} from './mapping-nodes.ts';
import type { ScalarMapper } from './scalar-mapping.ts';

export type MappedValue =
  | {
      readonly kind: 'record';
      readonly record: AvroRecord;
      /** Fields that were sent and that the schema does not know, or not with this type, but kept in extras. */
      readonly driftFields: number;
      /** Decimals and instants with more fraction digits than the field holds: rounded there, verbatim in extras. */
      readonly roundedNumbers: number;
    }
  | {
      readonly kind: 'failure';
      /** A JSON pointer in the schema's spelling. */
      readonly pointer: string;
      /** Never quotes a value. */
      readonly reason: string;
    };

const MISMATCH = Symbol('mismatch');
type Mapped = AvroValue | typeof MISMATCH;

/**
 * From JSON to records, by the schema alone. A member is looked for under the schema's name, then with a capital first
 * letter. Absent and null are the same, for unknown members too. Unknown members at any depth go to the field for them
 * of the nearest record that has one: an instrument within an event is the record that it is by itself. A value of the wrong type makes the nearest field that may be null give way, or the whole record.
 *
 * One instance serves one record at a time; it holds where it is and what it found on the way.
 */
export class Mapping {
  readonly #root: WholeMapping;
  readonly #keepMismatches: boolean;
  readonly #path: (string | number)[] = [];
  // How many steps of the path lead to the record whose field for unknown members takes what is found.
  #wholeDepth = 0;
  #extras: [pointer: string, text: string][] = [];
  #driftFields = 0;
  #roundedNumbers = 0;
  #pointer = '';
  #reason = '';

  /** @param assumedZone the zone of instants that are sent without one; without it they are of the wrong type */
  constructor(schema: RecordNode, onMismatch: OnMismatch, assumedZone: AssumedZone | null = null) {
    this.#root = compileMapping(schema, assumedZone);
    this.#keepMismatches = onMismatch === 'keepInExtras';
  }

  map(value: JsonValue): MappedValue {
    this.#path.length = 0;
    this.#driftFields = 0;
    this.#roundedNumbers = 0;
    const record = this.#mapWhole(this.#root, value);
    if (record === MISMATCH) return { kind: 'failure', pointer: this.#pointer, reason: this.#reason };
    return { kind: 'record', record, driftFields: this.#driftFields, roundedNumbers: this.#roundedNumbers };
  }

  /** The value of one member by itself, for what does not map as a whole; null where it cannot be read. */
  readMember(value: JsonValue, ...names: readonly string[]): AvroValue {
    let node: MappingNode = this.#root;
    let at: JsonValue = value;
    for (const name of names) {
      const record: MappingNode = node.kind === 'whole' ? node.record : node;
      const members: readonly MemberMapping[] = record.kind === 'record' ? record.members : [];
      const member: MemberMapping | undefined = members.find((known) => known.name === name);
      if (!(at instanceof Map) || member === undefined) return null;
      at = at.get(member.name) ?? at.get(member.capitalised) ?? null;
      node = member.node.kind === 'nullable' ? member.node.inner : member.node;
    }
    const mapped = this.#mapValue(node, at);
    // What reading it has found belongs to no record, and would pile up here.
    this.#extras = [];
    return mapped === MISMATCH ? null : mapped;
  }

  #mapValue(node: MappingNode, value: JsonValue): Mapped {
    switch (node.kind) {
      case 'nullable':
        return value === null ? null : this.#mapNullable(node.inner, value);
      case 'scalar':
        return this.#mapScalar(node.map, value);
      case 'array':
        return this.#mapArray(node.items, value);
      case 'record':
        return this.#mapRecord(node, value);
      case 'whole':
        return this.#mapWhole(node, value);
    }
  }

  #mapWhole(node: WholeMapping, value: JsonValue): Record<string, AvroValue> | typeof MISMATCH {
    const [outerExtras, outerDepth] = [this.#extras, this.#wholeDepth];
    this.#extras = [];
    this.#wholeDepth = this.#path.length;
    const record = this.#mapRecord(node.record, value);
    if (record !== MISMATCH) record[node.unknownFields] = this.#sortedExtras();
    this.#extras = outerExtras;
    this.#wholeDepth = outerDepth;
    return record;
  }

  #mapNullable(inner: MappingNode, value: JsonValue): Mapped {
    if (!this.#keepMismatches) return this.#mapValue(inner, value);
    const found = this.#extras.length;
    const { driftFields, roundedNumbers } = { driftFields: this.#driftFields, roundedNumbers: this.#roundedNumbers };
    const depth = this.#path.length;
    const mapped = this.#mapValue(inner, value);
    if (mapped !== MISMATCH) return mapped;
    // The text that is kept holds everything below, so what was found there is forgotten.
    this.#path.length = depth;
    this.#extras.length = found;
    this.#driftFields = driftFields + 1;
    this.#roundedNumbers = roundedNumbers;
    this.#keep(value);
    return null;
  }

  #mapScalar(map: ScalarMapper, value: JsonValue): Mapped {
    const outcome = map(value);
    if (outcome.kind === 'mismatch') return this.#mismatch(outcome.reason);
    if (outcome.exact !== 'exact') {
      this.#keep(value);
      if (outcome.exact === 'rounded') this.#roundedNumbers += 1;
      else this.#driftFields += 1;
    }
    return outcome.value;
  }

  #mapArray(items: MappingNode, value: JsonValue): Mapped {
    if (!isArray(value)) return this.#mismatch(`found ${describeJson(value)}, expected an array`);
    const mapped: AvroValue[] = [];
    for (const [index, element] of value.entries()) {
      this.#path.push(index);
      const item = this.#mapValue(items, element);
      if (item === MISMATCH) return MISMATCH;
      this.#path.pop();
      mapped.push(item);
    }
    return mapped;
  }

  #mapRecord(node: RecordMapping, value: JsonValue): Record<string, AvroValue> | typeof MISMATCH {
    if (!(value instanceof Map)) return this.#mismatch(`found ${describeJson(value)}, expected an object`);
    const record = node.blank();
    let known = node.discriminator !== null && value.has(node.discriminator) ? 1 : 0;
    for (const { name, capitalised, node: fieldNode } of node.members) {
      let member = value.get(name);
      if (member !== undefined) known += 1;
      if (member === undefined || member === null) member = value.get(capitalised) ?? null;
      if (member === null && fieldNode.kind === 'nullable') continue;
      this.#path.push(name);
      const mapped = this.#mapValue(fieldNode, member);
      if (mapped === MISMATCH) return MISMATCH;
      this.#path.pop();
      record[name] = mapped;
    }
    if (known !== value.size) this.#keepUnknown(node, value);
    for (const derived of node.derived) record[derived.name] = derived.value(record);
    return record;
  }

  #keepUnknown(node: RecordMapping, value: JsonObject): void {
    for (const [key, member] of value) {
      if (member === null || node.memberNames.has(key)) continue;
      const name = node.byCapitalised.get(key);
      if (name !== undefined && (value.get(name) ?? null) === null) continue;
      this.#path.push(key);
      this.#keep(member);
      this.#path.pop();
      this.#driftFields += 1;
    }
  }

  #keep(value: JsonValue): void {
    this.#extras.push([this.#path.slice(this.#wholeDepth).map(pointerStep).join(''), toJsonText(value)]);
  }

  #mismatch(reason: string): typeof MISMATCH {
    this.#pointer = this.#path.map(pointerStep).join('');
    this.#reason = reason;
    return MISMATCH;
  }

  #sortedExtras(): AvroRecord | null {
    if (this.#extras.length === 0) return null;
    return Object.fromEntries(this.#extras.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
