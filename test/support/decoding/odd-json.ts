import { PRICE_KINDS } from '../../../src/config/price-kinds/all.ts';
import type { FieldNode, RecordNode, ScalarNode, SchemaNode } from '../../../src/records/avro/schema.ts';
import { membersOf } from '../../oracle/mapping.ts';

/** A number from 0 to 1. */
export type Random = () => number;

/**
 * JSON texts that follow a schema, and now and then do not: other types, unknown members, both spellings of a key, keys
 * that come twice, escapes, white space, numbers and moments in every form.
 */
export class OddJson {
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
  'future',
  'new',
  'a/b',
  'x~y',
  '',
  '__proto__',
  'constructor',
  'ü',
  '€uro',
  'isin',
  'Name',
  'id',
  'k',
  '\ud800z',
  '\\ud800z',
  'prices',
];
const TEXTS = [
  '',
  'x',
  'Zürich',
  '€ 5',
  '\u{1f600} emoji',
  'a "quoted" one',
  'back\\slash',
  'tab\tand\nline',
  '\u0000\u001f',
  '\ud800 alone',
  'pair \udc00\ud800 turned',
  'a somewhat longer text that does not fit into a word or two of four bytes each, and more than that, and then some',
  '}],"',
  '\u2028',
];
const NUMBERS = [
  '0',
  '-0',
  '0.0',
  '-0.000',
  '1e0',
  '1E5',
  '1e-18',
  '5e-19',
  '15e-19',
  '1e20',
  '1e19',
  '1e400',
  '-1e-400',
  '1e00002',
  '0e99999',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '9007199254740993',
  '999999999999999',
  '9999999999999999',
  '99999999999999999999.999999999999999999',
  '99999999999999999999.9999999999999999995',
  '99999999999999999999.9999999999999999994',
  '0.0000000000000000005',
  '0.0000000000000000015',
  '0.00000000000000000050000001',
  '1.0000000000000000005',
  '1.0000000000000000015',
  '100000000000000000000',
  '16777216',
  '-16777216',
  '281474976710656',
  '0.000000000016777216',
  '-0.000000000008388608',
  '8.388608',
];
