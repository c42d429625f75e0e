import type { Refusals } from './answer.ts';
import { parseOffset } from './ledger/event-log.ts';

/** Reads query parameters and collects every refusal, so that one response names all refusals. */
export class Query {
  readonly #parameters: URLSearchParams;
  readonly #refusals = new Map<string, string[]>();

  constructor(parameters: URLSearchParams) {
    this.#parameters = parameters;
  }

  get refusals(): Refusals | undefined {
    return this.#refusals.size === 0 ? undefined : Object.fromEntries(this.#refusals);
  }

  refuse(name: string, reason: string): void {
    this.#refusals.set(name, [...(this.#refusals.get(name) ?? []), reason]);
  }

  text(name: string): string | null {
    const values = this.#parameters.getAll(name);
    if (values.length > 1) this.refuse(name, `The parameter ${name} was given ${values.length} times.`);
    return values[0] === undefined || values[0] === '' ? null : values[0];
  }

  integer(name: string, low: bigint, high: bigint): bigint | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = /^-?[0-9]{1,19}$/.test(text) ? BigInt(text) : undefined;
    if (value !== undefined && value >= low && value <= high) return value;
    this.refuse(name, `The value '${text}' is not an integer from ${low} to ${high}.`);
    return null;
  }

  boolean(name: string): boolean | null {
    const text = this.text(name);
    if (text === null || text === 'true' || text === 'false') return text === null ? null : text === 'true';
    this.refuse(name, `The value '${text}' is not a boolean.`);
    return null;
  }

  oneOf(name: string, values: readonly string[]): string | null {
    const text = this.text(name);
    if (text === null || values.includes(text)) return text;
    this.refuse(name, `The value '${text}' is not valid.`);
    return null;
  }

  /** Reads a repeated parameter (form style, exploded). A list joined by commas is one unknown value. */
  allOf(name: string, values: readonly string[]): readonly string[] {
    const given = this.#parameters.getAll(name);
    for (const value of given) if (!values.includes(value)) this.refuse(name, `The value '${value}' is not valid.`);
    return given;
  }

  offset(name: string): string | null {
    const text = this.text(name);
    if (text === null || parseOffset(text)) return text;
    this.refuse(name, `The value '${text}' does not have the form <digits>-<digits>.`);
    return null;
  }

  date(name: string): string | null {
    return this.#dated(name, /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/);
  }

  /** A full ISO 8601 date-time, in milliseconds. Without a zone, it is read as UTC. */
  dateTime(name: string): number | null {
    const form = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$/;
    const text = this.#dated(name, form);
    return text === null ? null : Date.parse(/(Z|[+-][0-9]{2}:[0-9]{2})$/.test(text) ? text : `${text}Z`);
  }

  #dated(name: string, form: RegExp): string | null {
    const text = this.text(name);
    if (text === null || (form.test(text) && isRealDate(text))) return text;
    this.refuse(name, `The value '${text}' is not valid.`);
    return null;
  }
}

function isRealDate(text: string): boolean {
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return (
    !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10)) && !Number.isNaN(Date.parse(text))
  );
}
