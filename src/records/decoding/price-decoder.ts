// Converts a bulk response into price records. The caller's `instrumentOf` knows the requests, and accepts or rejects
// each item before it is written. The last two fields of each record are the moments of request and response.

import type { AskedPrices } from '../../config/price-kinds/all.ts';
import {
  type AssumedZone,
  createAssumedZone,
  dateText,
  epochDays,
  instantText,
  parseInstant,
} from '../avro/instant.ts';
import { recordDigest } from '../avro/record-digest.ts';
import { parseSchema } from '../avro/schema.ts';
import { type DecodedFailure, type DecodedList, type RecordOptions, tooLong } from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { GivenField, momentsBytes } from './number-writer.ts';
import {
  anyPlan,
  compilePlan,
  memberPlan,
  named,
  objectPlan,
  type RecordPlan,
  seriesPlan,
  slotOf,
  type ValuePlan,
  withoutLastFields,
} from './plan.ts';
import {
  type DecodedPrice,
  MOMENT_FIELDS,
  type PriceAnswerContext,
  type PricedInstrument,
  type PriceItem,
  priceSchema,
} from './priced.ts';
import { RecordWriter } from './record-writer.ts';
import type { RowReader } from './row-reader.ts';

export interface PriceBodyDecoder {
  /** @throws ConnectorError BODY_MALFORMED, and each error of `instrumentOf` */
  decode(
    body: AsyncIterable<Uint8Array>,
    context: PriceAnswerContext,
  ): Promise<DecodedList<PriceItem | DecodedFailure>>;
}

export interface PriceBodyDecoderOptions extends RecordOptions {
  readonly asked: AskedPrices;
  readonly schemaId: number;
  /** The name of the time zone for instants without a zone; null: such an instant has a wrong type. */
  readonly assumedZone: string | null;
}

const MOST_WINDOWS = 10_000;
// The longest item is a series of MOST_WINDOWS windows of about 300 bytes each.
const LONGEST_ITEM_BYTES = 3 * 1024 * 1024;
const SMALL_N = 0x6e;
const SMALL_T = 0x74;
const SMALL_F = 0x66;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

export function createPriceDecoder(options: PriceBodyDecoderOptions): PriceBodyDecoder {
  const { asked } = options;
  const schema = parseSchema(priceSchema(asked.kind));
  const contents = withoutLastFields(compilePlan(schema), MOMENT_FIELDS.length);
  const response = asked.kind === 'overview' ? named(contents, 'response') : seriesPlan('response', 'prices', contents);
  const identifier = objectPlan('responseIdentifier', [anyPlan('isin')]);
  const plan = objectPlan('', [identifier, response, anyPlan('errorResponse')]);
  const zone = options.assumedZone === null ? null : createAssumedZone(options.assumedZone);
  const list = new ListDecoder<PriceItem, PriceAnswerContext>({
    ...options,
    listKey: 'items',
    plan,
    rowDecoder: (reader) => {
      const items = new PriceItems(plan, contents, reader, options, zone);
      return (start, end, position, answer) => items.decode(start, end, position, answer);
    },
    key: null,
    longestRowBytes: LONGEST_ITEM_BYTES,
  });
  return { decode: (body, context) => list.decode(body, context) };
}

interface Flaw {
  readonly pointer: string;
  readonly reason: string;
}
type Prices = { -readonly [Name in keyof PricesOf<PriceItem>]: PricesOf<PriceItem>[Name] };
type PricesOf<Item> = Extract<Item, { kind: 'prices' }>;

/** The slots of an item's members (see `RecordPlan`); -1 for a member that this kind of price does not have. */
function slotsOf(plan: ValuePlan, kind: AskedPrices['kind']) {
  const response = memberPlan(plan, 'response');
  const isSnapshot = kind === 'overview';
  return {
    identifier: slotOf(plan, 'responseIdentifier'),
    isin: slotOf(memberPlan(plan, 'responseIdentifier'), 'isin'),
    response: slotOf(plan, 'response'),
    type: slotOf(response, '$type'),
    error: slotOf(plan, 'errorResponse'),
    prices: isSnapshot ? -1 : slotOf(response, 'prices'),
    lastPrice: isSnapshot ? slotOf(response, 'lastPrice') : -1,
    isQuotingPulled: isSnapshot ? slotOf(memberPlan(response, 'lastPrice'), 'isQuotingPulled') : -1,
  };
}

class PriceItems {
  readonly #response: ValuePlan;
  readonly #contents: ValuePlan;
  readonly #slots: ReturnType<typeof slotsOf>;
  readonly #reader: RowReader;
  readonly #writer: RecordWriter;
  readonly #asked: AskedPrices;
  readonly #zone: AssumedZone | null;
  readonly #options: PriceBodyDecoderOptions;
  readonly #given = {
    instrumentId: new GivenField(),
    isin: new GivenField(),
    currency: new GivenField(),
    priceType: new GivenField(),
    fields: new GivenField(),
    interval: new GivenField(),
  };
  #answer: PriceAnswerContext | null = null;
  #type: string | null = null;
  #flaw: Flaw = { pointer: '', reason: '' };
  #tail: Uint8Array = new Uint8Array(0);

  constructor(
    plan: ValuePlan,
    contents: ValuePlan,
    reader: RowReader,
    options: PriceBodyDecoderOptions,
    zone: AssumedZone | null,
  ) {
    const { asked } = options;
    this.#response = memberPlan(plan, 'response');
    this.#contents = contents;
    this.#slots = slotsOf(plan, asked.kind);
    this.#reader = reader;
    this.#asked = asked;
    this.#zone = zone;
    this.#options = options;
    this.#writer = new RecordWriter(reader, options.schemaId, options, zone);
    for (const [name, field] of Object.entries(this.#given)) this.#writer.given.set(name, field);
    if (asked.kind !== 'overview') this.#given.fields.setText(asked.fields);
    if (asked.kind === 'intraday') this.#given.interval.setText(asked.interval);
  }

  decode(start: number, end: number, position: number, answer: PriceAnswerContext): PriceItem {
    const reader = this.#reader;
    const { json } = reader;
    if (json.bytes[start] !== OPEN_BRACE) {
      answer.instrumentOf(position, null);
      throw new Error('An item that is not an object was accepted.');
    }
    const slots = this.#slots;
    const response = reader.noteOf(0, slots.response);
    const error = reader.noteOf(0, slots.error);
    const isPriced = !this.#isNull(response) && this.#isNull(error);
    const isin = reader.stringAt(
      reader.noteOf(reader.noteOf(0, slots.identifier), slots.isin),
      answer.isinAt(position),
    );
    const type = reader.stringAt(reader.noteOf(response, slots.type), this.#type);
    this.#type = type;
    const of = answer.instrumentOf(position, { isin, isPriced, type });
    const unknown = reader.countUnknown(0);
    if (!isPriced) {
      const item = reader.copy(start, end);
      const isAbsent = this.#isNull(error);
      const problem = isAbsent ? null : json.value(reader.startAt(error), reader.endOf(null, error));
      return { kind: 'problem', problem, item, driftFields: unknown };
    }
    this.#begin(answer, of);
    const decoded = this.#asked.kind === 'overview' ? this.#snapshot(response, of) : this.#series(response, of);
    if ('reason' in decoded) {
      const { pointer, reason } = decoded;
      const item = reader.copy(start, end);
      return { kind: 'unusable', pointer: `/response${pointer}`, reason, item, driftFields: unknown };
    }
    decoded.driftFields += unknown;
    return decoded;
  }

  #begin(answer: PriceAnswerContext, of: PricedInstrument): void {
    if (answer !== this.#answer) {
      this.#answer = answer;
      this.#tail = momentsBytes([answer.requestedAtMs, answer.receivedAtMs]);
    }
    const { instrumentId, isin, currency, priceType } = this.#given;
    instrumentId.setDigits(of.instrumentId);
    isin.setTextOrNull(of.isin);
    currency.setTextOrNull(of.currency ?? null);
    priceType.setTextOrNull(of.priceType ?? null);
  }

  #snapshot(note: number, of: PricedInstrument): Prices | Flaw {
    const { extras } = this.#writer;
    const value = this.#write(note, '');
    if (value === null) return this.#flaw;
    const { driftFields, roundedNumbers } = extras;
    const isQuotingPulled = this.#quotingPulled(note);
    const records = [{ key: Buffer.from(of.instrumentId), value, digest: null }];
    return { kind: 'prices', records, isQuotingPulled, driftFields, roundedNumbers };
  }

  #series(note: number, of: PricedInstrument): Prices | Flaw {
    const [reader, { extras }] = [this.#reader, this.#writer];
    const { tape, json } = reader;
    const list = reader.noteOf(note, this.#slots.prices);
    if (json.bytes[reader.startAt(list)] !== OPEN_BRACKET) {
      const { mismatches } = this.#writer;
      mismatches.member(this.#response.record as RecordPlan, 0, list, 0);
      return { pointer: mismatches.pointer, reason: mismatches.reason };
    }
    const frame = tape[list + 1] as number;
    const count = tape[frame + 1] as number;
    if (count > MOST_WINDOWS) {
      return { pointer: '/prices', reason: `${count} windows; at most ${MOST_WINDOWS} are read` };
    }
    const beside = extras.unknownBeside(this.#response, note);
    this.#writer.beside = beside;
    const records = new Map<string, DecodedPrice>();
    let driftFields = beside.length;
    let roundedNumbers = 0;
    for (const [index, window] of reader.elementNotes(frame).entries()) {
      const value = this.#write(window, `/prices/${index}`);
      if (value === null) return this.#flaw;
      const key = this.#windowKey(window, of.instrumentId);
      // A repeated window moves to the end of the map.
      records.delete(key);
      const digest = recordDigest(value.subarray(0, value.length - this.#tail.length));
      records.set(key, { key: Buffer.from(key), value, digest });
      driftFields += extras.driftFields;
      roundedNumbers += extras.roundedNumbers;
    }
    return {
      kind: 'prices',
      records: [...records.values()],
      isQuotingPulled: null,
      driftFields,
      roundedNumbers,
    };
  }

  #write(note: number, pointer: string): Buffer | null {
    const [reader, writer] = [this.#reader, this.#writer];
    const bytes = reader.endOf(this.#contents, note) - reader.startAt(note);
    const value = writer.write(this.#contents, note, bytes, this.#tail);
    const flaw = value === null ? writer.mismatches : tooLong(value, this.#options);
    if (flaw === null) return value;
    this.#flaw = { pointer: pointer + flaw.pointer, reason: flaw.reason };
    return null;
  }

  #windowKey(note: number, instrumentId: string): string {
    const asked = this.#asked;
    const text = (name: string) => this.#reader.stringAt(this.#reader.noteOf(note, slotOf(this.#contents, name))) ?? '';
    switch (asked.kind) {
      case 'overview':
        throw new Error('A snapshot has no windows.');
      case 'daily':
        return `${instrumentId}/${asked.fields}/${dateText(epochDays(text('date')) ?? Number.NaN)}`;
      case 'intraday': {
        const instant = parseInstant(text('windowOpenTimestamp'), this.#zone);
        if (instant === null || instant === 'noZone') throw new Error('A window was written without its moment.');
        return `${instrumentId}/${asked.interval}/${asked.fields}/${instantText(instant.micros)}`;
      }
    }
  }

  #quotingPulled(note: number): boolean | null {
    const reader = this.#reader;
    const { lastPrice, isQuotingPulled } = this.#slots;
    const pulled = reader.noteOf(reader.noteOf(note, lastPrice), isQuotingPulled);
    const first = reader.json.bytes[reader.startAt(pulled)];
    return first === SMALL_T || first === SMALL_F ? first === SMALL_T : null;
  }

  #isNull(note: number): boolean {
    return this.#reader.json.bytes[this.#reader.startAt(note)] === SMALL_N;
  }
}
