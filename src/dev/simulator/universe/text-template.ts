import type { Calendar } from './calendar.ts';
import type { InstrumentVersion } from './instrument-version.ts';
import { type Identifiers, identifiersOf } from './isin.ts';
import { digits, mix } from './random.ts';

/** Generated instruments have issue dates in the four years from 2022-01-01. A day is an index of the `Calendar`. */
const FIRST_ISSUE_DAY = 1_461;
const ISSUE_DAYS = 1_461;

/** Writes the JSON text of one value of one instrument; null if the value is absent. */
export type Slot = (draw: InstrumentDraw) => string | null;

/** JSON text that is written unchanged: numbers keep every digit, trailing zero and exponent. */
interface Verbatim {
  readonly verbatim: string;
}

/** A value that is absent in some versions of an instrument. */
interface Sometimes {
  readonly sometimes: Slot;
}

export type Node = string | boolean | null | Slot | Verbatim | Sometimes | readonly Node[] | NodeObject;
export interface NodeObject {
  readonly [key: string]: Node;
}

/**
 * The form of instruments (part 2.2 of src/provider/README.md): absent values are null or omitted; keys are lower-case
 * or capitalised.
 */
export interface TextForm {
  readonly absent: 'null' | 'omit';
  readonly casing: 'lower' | 'capitalised';
}

export const LIST_FORM: TextForm = Object.freeze({ absent: 'null', casing: 'lower' });

export function verbatim(text: string): Verbatim {
  return { verbatim: text };
}

export function sometimes(slot: Slot): Sometimes {
  return { sometimes: slot };
}

export function keyIn(form: TextForm, key: string): string {
  return form.casing === 'lower' ? key : key.charAt(0).toUpperCase() + key.slice(1);
}

/** Converts a tree into fixed texts and slots. After that, writing an instrument only joins texts. */
export function compileTemplate(root: Node, form: TextForm): (draw: InstrumentDraw) => string {
  const texts: string[] = [''];
  const slots: Slot[] = [];
  const text = (piece: string) => {
    texts[texts.length - 1] += piece;
  };
  const slot = (write: Slot) => {
    slots.push(write);
    texts.push('');
  };
  const write = (node: Node): void => {
    if (typeof node === 'function') slot(node);
    else if (node === null || typeof node !== 'object') text(JSON.stringify(node));
    else if (Array.isArray(node)) writeList(node);
    else if ('verbatim' in node) text(String(node.verbatim));
    else if ('sometimes' in node) slot(node.sometimes as Slot);
    else writeObject(node as NodeObject);
  };
  const writeList = (nodes: readonly Node[]) => {
    text('[');
    for (const [at, node] of nodes.entries()) {
      if (at > 0) text(',');
      write(node);
    }
    text(']');
  };
  const writeObject = (object: NodeObject) => {
    text('{');
    let first = true;
    for (const [key, node] of Object.entries(object)) {
      const isSometimes = node !== null && typeof node === 'object' && 'sometimes' in node;
      if (form.absent === 'omit' && node === null) continue;
      const name = `${first ? '' : ','}${JSON.stringify(keyIn(form, key))}:`;
      if (form.absent === 'omit' && isSometimes) {
        // The slot also writes the comma before the name, so an optional value cannot come first.
        if (first) throw new Error(`The value of ${key} may be missing and cannot come first.`);
        const value = node.sometimes as Slot;
        slot((draw) => {
          const written = value(draw);
          return written === null ? '' : name + written;
        });
        continue;
      }
      text(name);
      write(node);
      first = false;
    }
    text('}');
  };
  write(root);
  return (draw) => {
    let out = texts[0] ?? '';
    for (let at = 0; at < slots.length; at++) out += `${slots[at]?.(draw) ?? 'null'}${texts[at + 1]}`;
    return out;
  };
}

/** One instrument in one version, with the functions from which slots take their values. */
export class InstrumentDraw {
  readonly id: bigint;
  readonly key: number;
  readonly version: InstrumentVersion;
  readonly country: string | null;
  readonly identifiers: Identifiers;
  readonly #calendar: Calendar;
  readonly #issueDay: number;

  constructor(id: bigint, key: number, country: string | null, version: InstrumentVersion, calendar: Calendar) {
    this.id = id;
    this.key = key;
    this.version = version;
    this.country = country;
    this.identifiers = identifiersOf(id, country);
    this.#calendar = calendar;
    this.#issueDay = FIRST_ISSUE_DAY + (mix(key, 11) % ISSUE_DAYS);
  }

  below(salt: number, limit: number): number {
    return mix(this.key, salt) % limit;
  }

  digits(salt: number, count: number): string {
    return digits(this.key, salt, count);
  }

  date(daysAfterIssue: number): string {
    return this.#calendar[this.#issueDay + daysAfterIssue] ?? '2045-01-01';
  }
}
