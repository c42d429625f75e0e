// Values of the wrong type. Either the nearest field that may be null becomes null, with the value's text in `extras`, or
// the whole record fails. The reason reveals nothing of the value.
import { parseInstant } from '../avro/instant.ts';
import type { AssumedZone } from '../avro/time-zone.ts';
import { BYTES } from '../json/json-bytes.ts';
import type { Extras } from './extras.ts';
import { KIND, NOTES, PRECISION, type RecordPlan, SCALE, type ValuePlan } from './plan.ts';
import type { RowReader } from './row-reader.ts';

const { QUOTE, OPEN_BRACE, OPEN_BRACKET } = BYTES;
const PLAIN_INTEGER = /^-?\d{1,19}$/;
const LONGEST_INTEGER = 20;

const SMALL_N = 0x6e;

/** What `write` functions return in place of a position. */
const FAILED = -1;

export class Mismatches {
  /** Of the value that made the record fail. */
  pointer = '';
  reason = '';
  /** Whether the record is to be written once more: a member gave way out of which an earlier field was taken. */
  again = false;
  readonly #reader: RowReader;
  readonly #extras: Extras;
  readonly #keepMismatches: boolean;
  readonly #zone: AssumedZone | null;

  constructor(options: {
    readonly reader: RowReader;
    readonly extras: Extras;
    readonly keepMismatches: boolean;
    readonly zone: AssumedZone | null;
  }) {
    this.#reader = options.reader;
    this.#extras = options.extras;
    this.#keepMismatches = options.keepMismatches;
    this.#zone = options.zone;
  }

  /** Whether the objects around fields of a record are objects, or null, or gave way. */
  checkEnvelopes(record: RecordPlan, frame: number, depth: number): boolean {
    const { json, tape } = this.#reader;
    for (const slot of record.envelopes) {
      const note = frame + NOTES + 2 * slot;
      const c = json.bytes[Math.abs(tape[note] as number)];
      if (c === OPEN_BRACE || c === SMALL_N) continue;
      if (!this.giveWay(record, slot, note, depth)) return false;
      tape[note] = 0;
    }
    return true;
  }

  /** Whether null is written in place of a member. */
  giveWay(record: RecordPlan, slot: number, note: number, depth: number): boolean {
    if (this.again) return false;
    const plan = record.members[slot] as ValuePlan;
    if (!this.#keepMismatches || !plan.nullable) {
      // Where a value within it is wrong, that value is the reason.
      if (!this.#isContainer(plan, note)) this.member(record, slot, note, depth);
      return false;
    }
    const start = Math.abs(this.#reader.tape[note] as number);
    const end = this.#reader.endOf(plan, note);
    this.#extras.path[depth] = plan.step;
    if (!record.origins.includes(slot)) {
      this.#extras.driftFields += 1;
      this.#extras.keep(depth, start, end);
      return true;
    }
    this.#extras.keepLasting(depth, start, end);
    this.#reader.tape[note] = 0;
    this.again = true;
    return false;
  }

  /** A member of the wrong type. */
  member(record: RecordPlan, slot: number, note: number, depth: number): number {
    const plan = record.members[slot] as ValuePlan;
    this.#extras.path[depth] = plan.step;
    return this.value(plan, note, depth);
  }

  /** A value of the wrong type, at the end of the path. */
  value(plan: ValuePlan, note: number, depth: number): number {
    this.pointer = this.#extras.pointer(depth);
    this.reason = mismatchReason(this.#reader, plan, note, this.#zone);
    return FAILED;
  }

  #isContainer({ kind }: ValuePlan, note: number): boolean {
    const c = this.#reader.json.bytes[Math.abs(this.#reader.tape[note] as number)];
    return (kind === KIND.RECORD && c === OPEN_BRACE) || (kind === KIND.LIST && c === OPEN_BRACKET);
  }
}

function mismatchReason(reader: RowReader, plan: ValuePlan, note: number, zone: AssumedZone | null): string {
  return `found ${describeNote(reader, plan, note, zone)}, expected ${plan.expected}`;
}

function describeNote(reader: RowReader, { kind }: ValuePlan, note: number, zone: AssumedZone | null): string {
  const {
    json: { bytes },
    tape,
  } = reader;
  const start = Math.abs(tape[note] as number);
  const end = tape[note + 1] as number;
  const what = describeValue(bytes[start] as number);
  if (what === 'a number' && kind === KIND.DECIMAL)
    return `a number with more than ${PRECISION - SCALE} integer digits`;
  if (what === 'a number' && kind === KIND.LONG) {
    const isPlain = PLAIN_INTEGER.test(bytes.toString('latin1', start, Math.min(end, start + LONGEST_INTEGER + 1)));
    return isPlain ? 'an integer out of range' : 'a number that is not a plain integer';
  }
  if (what !== 'a string' || kind > KIND.INSTANT) return what;
  if (kind === KIND.DATE || kind === KIND.LOCAL_TIME) return 'a string of another form';
  if (kind !== KIND.INSTANT) return what;
  const isZoneMissing = parseInstant(reader.json.text(start, end), zone) === 'noZone';
  return isZoneMissing ? 'a date-time without a zone (marketData.assumedZone is not set)' : 'a string of another form';
}

function describeValue(first: number): string {
  switch (first) {
    case QUOTE:
      return 'a string';
    case OPEN_BRACE:
      return 'an object';
    case OPEN_BRACKET:
      return 'an array';
    case 0x6e:
      return 'null';
    case 0x74:
    case 0x66:
      return 'a boolean';
    default:
      return 'a number';
  }
}
