import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type AskedPrices, PRICE_KINDS } from '../../../../src/config/price-kinds/all.ts';
import { ConnectorError } from '../../../../src/errors.ts';
import { isResponseType } from '../../../../src/provider/market-data.ts';
import {
  type FieldNode,
  parseSchema,
  type RecordNode,
  type ScalarNode,
  type SchemaNode,
} from '../../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { createCheckDecoder } from '../../../../src/records/decoding/check-decoder.ts';
import type { DecodedList, DecodingSizes } from '../../../../src/records/decoding/decoded-list.ts';
import { createEventDecoder } from '../../../../src/records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../../../src/records/decoding/page-decoder.ts';
import { createPriceDecoder, type PriceBodyDecoder } from '../../../../src/records/decoding/price-decoder.ts';
import { type ItemHead, priceSchemaName } from '../../../../src/records/decoding/priced.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { membersOf } from '../../../oracle/mapping.ts';
import * as plainly from '../../../oracle/plain-decoders.ts';
import { seededRandom } from '../../../simulation/random.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';
import { questionsFor, termsAt } from '../../../support/decoding/bulk-answers.ts';

/** A number from 0 to 1. */
type Random = () => number;

/**
 * JSON texts that follow a schema, and now and then do not: other types, unknown members, both spellings of a key, keys
 * that come twice, escapes, white space, numbers and moments in every form.
 */
class OddJson {
  readonly #random: Random;
  /** How often something is odd; 0 for none of it. */
  oddness = 0.05;

  constructor(random: Random) {
    this.#random = random;
  }

  record(node: RecordNode): string {
    if (this.#odd(0.1)) return this.any(2);
    const members = membersOf(node).flatMap((member) => this.#member(member));
    if (node.discriminator !== null && this.#random() < 0.5) members.push(`"${node.discriminator}":${this.any(1)}`);
    while (this.#odd()) members.push(`${this.#key(this.pick(UNKNOWN_KEYS))}:${this.any(3)}`);
    if (this.#odd()) members.push(...members.slice(0, 2));
    if (this.#random() < 0.1) members.reverse();
    return this.#around('{', members, '}');
  }

  /** An item of a bulk response about this isin. */
  bulkItem(row: RecordNode, isin: string, kind: keyof typeof PRICE_KINDS): string {
    const unusual = (usual: string, others: readonly string[]) => (this.below(25) === 0 ? this.pick(others) : usual);
    const name = `"${PRICE_KINDS[kind].types.response}"`;
    const type = unusual(name, [name.toLowerCase(), '"Other"', 'null', '5']);
    const windows = `[${Array.from({ length: this.below(4) }, () => this.record(row)).join()}]`;
    const record = this.record(row);
    const key = unusual('prices', ['Prices', 'price']);
    const series = `{"${key}":${unusual(windows, ['null', '{}', '5'])}${unusual('', [',"more":1', ',"Prices":[]'])}}`;
    const content = kind === 'overview' ? record : series;
    const response = content.startsWith('{')
      ? `{"$type":${type}${content.length > 2 && content.trim() !== '{}' ? ',' : ''}${content.slice(1)}`
      : content;
    const identifier = unusual(`{"isin":${this.text(isin)}}`, ['{"isin":"X"}', 'null', '{"isin":5}', '{"Isin":"A"}']);
    const error = unusual('null', ['{"status":404,"title":"gone \\ud800"}', '"text"', '[]']);
    const more = unusual('', [',"unknown":{"a":1,"a":2}', ',"Response":null', ',"response":null']);
    const members = `"responseIdentifier":${identifier},"response":${unusual(response, ['null'])},"errorResponse":${error}`;
    return unusual(`{${members}${more}}`, ['null', '5', '{}']);
  }

  any(depth: number): string {
    const kinds = depth > 0 ? 8 : 6;
    switch (this.below(kinds)) {
      case 0:
        return 'null';
      case 1:
        return this.pick(['true', 'false']);
      case 2:
        return this.number();
      case 3:
        return this.#moment();
      case 6:
        return this.#around(
          '[',
          Array.from({ length: this.below(4) }, () => this.any(depth - 1)),
          ']',
        );
      case 7: {
        const members = () => `${this.#key(this.pick(UNKNOWN_KEYS))}:${this.any(depth - 1)}`;
        return this.#around('{', Array.from({ length: this.below(4) }, members), '}');
      }
      default:
        return this.text(this.pick(TEXTS));
    }
  }

  number(): string {
    const digits = (count: number) => Array.from({ length: count }, () => this.pick('0123456789059')).join('');
    const form = this.#random();
    if (form < 0.5) return `${this.below(1e6)}${this.pick(['', '.5', '.25', '.0'])}`;
    if (form < 0.6) return this.pick(NUMBERS);
    const whole = digits(this.below(this.#odd(0.3) ? 45 : 16)).replace(/^0+/, '') || '0';
    const fraction = this.#random() < 0.5 ? '' : `.${digits(1 + this.below(this.pick([3, 18, 25, 40])))}`;
    const exponent =
      this.#random() < 0.9 ? '' : `${this.pick('eE')}${this.pick(['', '+', '-'])}${this.below(this.pick([3, 30]))}`;
    return `${this.pick(['', '', '', '-'])}${whole}${fraction}${exponent}`;
  }

  text(value: string): string {
    if (this.#odd(0.3))
      return `"${[...value].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
    return JSON.stringify(value);
  }

  pick<T>(from: string | readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** White space, mostly none. */
  space(): string {
    return this.#odd(0.3) ? this.pick([' ', '\n', '\t ', '  \r\n']) : '';
  }

  #member({ name, node }: Pick<FieldNode, 'name' | 'node'>): string[] {
    const inner = node.kind === 'nullable' ? node.inner : node;
    if (node.kind === 'nullable' && this.#random() < 0.25) return this.#random() < 0.5 ? [] : [`"${name}":null`];
    const capital = name.charAt(0).toUpperCase() + name.slice(1);
    const spelled = this.#odd() ? capital : name;
    const member = (key: string) => `${this.#key(key)}${this.space()}:${this.space()}${this.#value(inner)}`;
    if (!this.#odd(0.2)) return [member(spelled)];
    return [member(name), this.#random() < 0.3 ? `"${name}":null` : member(capital), member(spelled)];
  }

  #key(name: string): string {
    return this.#odd(0.3)
      ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`
      : JSON.stringify(name);
  }

  #value(node: SchemaNode): string {
    if (this.#odd(0.3)) return this.any(3);
    switch (node.kind) {
      case 'array':
        return this.#around(
          '[',
          Array.from({ length: this.below(4) }, () => this.#value(node.items)),
          ']',
        );
      case 'record':
        return this.record(node);
      case 'scalar':
        return this.#scalar(node);
      default:
        return this.any(3);
    }
  }

  #scalar({ avro, logical }: ScalarNode): string {
    if (logical?.name === 'decimal') return this.number();
    if (logical !== null) return this.#moment(logical.name);
    if (avro === 'boolean') return this.pick(['true', 'false']);
    if (avro === 'long') return this.#odd() ? this.pick(NUMBERS) : String(this.below(1e9));
    return this.text(this.#random() < 0.5 ? this.pick(['isin', 'ISIN', 'valor', 'CH0012']) : this.pick(TEXTS));
  }

  #moment(form: string = this.pick(['date', 'local-timestamp-millis', 'timestamp-micros'])): string {
    const two = (most: number) => String(this.below(this.#odd(0.2) ? 100 : most + 1)).padStart(2, '0');
    const year = this.#odd()
      ? this.pick(['0000', '0001', '9999', '1600', '1900', '2400', '20x4'])
      : String(1950 + this.below(120));
    const date = `${year}-${two(12)}-${two(29)}`;
    const time = `${two(23)}:${two(59)}:${two(59)}`;
    if (form === 'date') return this.text(this.#odd() ? `${date} ` : date);
    if (form === 'local-timestamp-millis') return this.text(`${date}${this.#odd() ? 'T' : ' '}${time}`);
    const fraction = this.pick(['', '', '.1', '.123456', '.1234565', '.12345650', ',5', '.', '.000000000']);
    const zone = this.pick(['Z', 'Z', 'Z', 'z', '+01:00', '-0330', '+02', '', '+99:00']);
    return this.text(`${date}T${time}${fraction}${zone}`);
  }

  #around(open: string, parts: readonly string[], close: string): string {
    const spaced = parts.map((part) => `${this.space()}${part}${this.space()}`);
    return `${open}${spaced.join(',') || this.space()}${close}`;
  }

  #odd(factor = 1): boolean {
    return this.#random() < this.oddness * factor;
  }

  /** A whole number below a limit. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const UNKNOWN_KEYS = [
  ['future', 'new', 'k', 'ü', '€uro', ''],
  // Names of fields elsewhere, or in another casing.
  ['isin', 'Name', 'id', 'prices'],
  // Names that mean something to JavaScript, to pointers or to UTF-16.
  ['__proto__', 'constructor', 'a/b', 'x~y', '\ud800z', '\\ud800z'],
].flat();
const TEXTS = [
  ['', 'x', 'Zürich', '€ 5', '\u{1f600} emoji'],
  ['a "quoted" one', 'back\\slash', 'tab\tand\nline', '}],"'],
  ['\u0000\u001f', '\ud800 alone', 'pair \udc00\ud800 turned', '\u2028'],
  ['a somewhat longer text that does not fit into a word or two of four bytes each, and more than that, and then some'],
].flat();
const NUMBERS = [
  ['0', '-0', '0.0', '-0.000', '0e99999', '1e0', '1E5', '1e-18', '1e20', '1e19', '1e400', '-1e-400', '1e00002'],
  // At the limits of 64 bits, of a float, of fifteen digits, and of words.
  ['9223372036854775807', '-9223372036854775808', '9223372036854775808', '9007199254740993'],
  ['999999999999999', '9999999999999999', '100000000000000000000', '16777216', '-16777216', '281474976710656'],
  ['0.000000000016777216', '-0.000000000008388608', '8.388608'],
  // At the limits of decimal(38,18), and halves of its last digit.
  ['99999999999999999999.999999999999999999', '99999999999999999999.9999999999999999995'],
  ['99999999999999999999.9999999999999999994', '0.00000000000000000050000001'],
  ['5e-19', '15e-19', '0.0000000000000000005', '0.0000000000000000015'],
  ['1.0000000000000000005', '1.0000000000000000015'],
].flat();

interface Decoder {
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<{ readonly kind: string }>>;
}

/** The transcoder, and the plain way that is its oracle, for one kind of response. */
interface Pair {
  readonly listKey: string;
  readonly row: RecordNode;
  /** Of bulk responses. */
  readonly prices?: AskedPrices['kind'];
  readonly plain: Decoder;
  readonly transcoder: Decoder;
  readonly sizes: DecodingSizes;
}

// From sizes at which every value is cut, to the usual ones.
const ALL_SIZES: readonly DecodingSizes[] = [
  { piece: 1, buffer: 1, slab: 1 },
  { piece: 7, buffer: 64, slab: 300 },
  { piece: 300, buffer: 300, slab: 4_096 },
  { piece: 32_768, buffer: 131_072, slab: 262_144 },
];
// So that some values are too long.
const MAX_VALUE_BYTES = 3_000;
const MAX_PRICE_BYTES = 500;
const ASKED: readonly AskedPrices[] = [
  { kind: 'overview' },
  { kind: 'daily', fields: 'Close' },
  { kind: 'intraday', fields: 'BidAsk', interval: 'Hour_1' },
];
/** The isins that the bulk responses are about. */
const ISINS = ['CH0', 'CH1', 'CH2', 'CH3'];
const QUESTIONS = questionsFor(ISINS, termsAt);

function decoderPairs(): readonly Pair[] {
  const [instrumentSchema, eventSchema, checkSchema] = [
    readSchemaText('Instrument'),
    readSchemaText('InstrumentEvent'),
    readSchemaText('PreTradeCheck'),
  ];
  return (['deadLetter', 'keepInExtras'] as const).flatMap((onMismatch) =>
    ALL_SIZES.flatMap((sizes): readonly Pair[] => {
      const common = { onMismatch, maxValueBytes: MAX_VALUE_BYTES, clock: systemClock, sizes };
      const page = { ...common, schema: instrumentSchema, schemaId: 7, listKey: 'instruments' };
      const events = { ...common, eventSchema, eventSchemaId: 8, instrumentSchema, instrumentSchemaId: 7 };
      const checks = { ...common, schema: checkSchema, schemaId: 9 };
      const pair = (listKey: string, schema: string, plain: Decoder, transcoder: Decoder): Pair => {
        return { listKey, row: parseSchema(schema), plain, transcoder, sizes };
      };
      return [
        pair('instruments', instrumentSchema, plainly.createPageDecoder(page), createPageDecoder(page)),
        pair('events', eventSchema, plainly.createEventDecoder(events), createEventDecoder(events)),
        pair('preTradeChecks', checkSchema, plainly.createCheckDecoder(checks), createCheckDecoder(checks)),
        ...ASKED.map((asked) => {
          const assumedZone = onMismatch === 'keepInExtras' ? 'Europe/Zurich' : null;
          const options = { ...common, asked, schemaId: 30, assumedZone, maxValueBytes: MAX_PRICE_BYTES };
          const answering = ({ decode }: PriceBodyDecoder): Decoder => ({
            decode: (body) => decode(body, answerTo(asked.kind)),
          });
          const plain = answering(plainly.createPriceDecoder(options));
          const schema = readSchemaText(priceSchemaName(asked.kind));
          return { ...pair('items', schema, plain, answering(createPriceDecoder(options))), prices: asked.kind };
        }),
      ];
    }),
  );
}

/** A bulk response whose items must be those of the questions. */
function answerTo(kind: AskedPrices['kind']) {
  return {
    requestedAtMs: 1_000_000.4,
    receivedAtMs: 1_000_123,
    isinAt: (at: number) => ISINS[at],
    instrumentOf(at: number, head: ItemHead | null) {
      const question = QUESTIONS[at];
      const isOther = head?.isin !== question?.isin || (head?.isPriced && !isResponseType(head.type, kind));
      if (question === undefined || isOther) throw new ConnectorError('BULK_MISMATCH', 'another item');
      return question;
    },
  };
}

/**
 * The transcoder gives what the plain way gives, byte by byte and count by count, for responses that follow the schema,
 * responses that do not, and damaged copies of both. `FUZZ_SECONDS=600 FUZZ_SEED=7 node --test <this file>` looks for longer.
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 4);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const LEAST_BODIES = 120;
const COPIES = 4;
const LONG_BODY = 50_000;

const random = seededRandom(SEED);
const odd = new OddJson(random);
const PASTED = [...'"{}[],:\\7-', 'null', '1e5', '\\ud800', '\u0000', '"id":null,', '"__proto__":1,'];

function bodyFor({ listKey, row, prices }: Pair): Buffer {
  odd.oddness = odd.pick(prices ? [0, 0.01, 0.05] : [0, 0.01, 0.05, 0.2]);
  const count = odd.below(4);
  const rows = prices
    ? ISINS.slice(0, count).map((isin) => odd.bulkItem(row, isin, prices))
    : Array.from({ length: count }, () => odd.record(row));
  if (!prices && random() < 0.05) rows.push(`{"id":1,"u":${'['.repeat(70)}${']'.repeat(70)}}`);
  if (!prices && random() < 0.003) {
    rows.push(`{"id":1,"preTradeCheckId":"a","instrument":{"id":2},"u":"${'é'.repeat(270_000)}"}`);
  }
  const space = () => odd.space();
  const list = `"${listKey}"${space()}:${space()}[${space()}${rows.join(`${space()},${space()}`)}${space()}]`;
  const beside = random() < 0.1 ? `,"x":${odd.any(3)}` : '';
  const again = random() < 0.05 ? `,"links":{"next":"a"},"${listKey}":[${rows.slice(1).join()}]` : '';
  return Buffer.from(
    `${space()}{"nextId":"1-0"${space()},${list}${space()},"links":{"next":null}${beside}${again}}${space()}`,
  );
}

function damaged(body: Buffer): Buffer {
  let bytes = body;
  for (let times = 1 + odd.below(2); times > 0; times--) {
    const at = odd.below(bytes.length);
    const paste = random() < 0.5 ? Buffer.from(odd.pick(PASTED)) : Buffer.from([odd.below(256)]);
    bytes = Buffer.concat([bytes.subarray(0, at), paste, bytes.subarray(at + odd.below(odd.pick([2, 12])))]);
  }
  return random() < 0.1 ? bytes.subarray(0, odd.below(bytes.length)) : bytes;
}

async function outcomeOf(decoded: ReturnType<Pair['plain']['decode']>) {
  try {
    return await decoded;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return { code: error.code };
  }
}

test('the transcoder gives what the plain way gives', async () => {
  const pairs = decoderPairs();
  const seen = new Map<string, number>();
  const count = (what: string, times = 1) => seen.set(what, (seen.get(what) ?? 0) + times);
  const untilMs = performance.now() + SECONDS * 1_000;
  for (let bodies = 0; bodies < LEAST_BODIES || performance.now() < untilMs; bodies++) {
    const pair = pairs[bodies % pairs.length] as Pair;
    const whole = bodyFor(pair);
    if (whole.length > LONG_BODY && pair.sizes.piece < 300) continue;
    for (let copy = 0; copy < COPIES; copy++) {
      const body = copy === 0 ? whole : damaged(whole);
      const chunkBytes = body.length > LONG_BODY ? 5_000 : odd.pick([1, 3, 50, 1_000, 100_000]);
      const expected = await outcomeOf(pair.plain.decode(chunked(body, 1_000_000)));
      const given = await outcomeOf(pair.transcoder.decode(chunked(body, chunkBytes)));
      if ('code' in expected) count(expected.code);
      else {
        if (expected.duplicateKeys > 0) count('duplicate keys');
        for (const { kind, driftFields = 0, roundedNumbers = 0 } of expected.rows as readonly Counted[]) {
          count(kind);
          if (driftFields > 0) count('drift');
          if (roundedNumbers > 0) count('rounded');
        }
      }
      if (isDeepStrictEqual(given, expected)) continue;
      assert.deepEqual(given, expected, `seed ${SEED}, body ${bodies}, copy ${copy}: ${body.toString()}`);
    }
  }
  for (const what of SEEN) assert.ok(seen.has(what), `nothing was seen of: ${what}`);
});

interface Counted {
  readonly kind: string;
  readonly driftFields?: number;
  readonly roundedNumbers?: number;
}

const KINDS = ['record', 'event', 'failure', 'prices', 'problem', 'unusable'];
const SEEN = [...KINDS, 'BODY_MALFORMED', 'BULK_MISMATCH', 'drift', 'rounded', 'duplicate keys'];

test('a key that comes again counts once, whatever the value holds that it replaces', async () => {
  const row = '{"id":1,"u":{"a":{"b":1,"c":{"d":2}},"a":3}}';
  for (const { listKey, plain, transcoder } of decoderPairs().filter((pair) => pair.listKey === 'instruments')) {
    const body = Buffer.from(`{"nextId":"1-0","${listKey}":[${row}],"links":{"next":null}}`);
    for (const decoder of [plain, transcoder]) {
      assert.equal((await decoder.decode(chunked(body, 1_000))).duplicateKeys, 1);
    }
  }
});
