import type { Calendar } from './calendar.ts';
import type { InstrumentVersion } from './instrument-version.ts';
import { type Identifiers, identifiersOf } from './isin.ts';
import { digits, mix } from './random.ts';

/** The days on which generated instruments were issued: four years from 2022-01-01. */
const FIRST_ISSUE_DAY = 1_461;
const ISSUE_DAYS = 1_461;

/** Everything that the slots of a template may ask about one instrument. */
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

  /** A whole number from 0 up to, not including, `limit`. */
  below(salt: number, limit: number): number {
    return mix(this.key, salt) % limit;
  }

  digits(salt: number, count: number): string {
    return digits(this.key, salt, count);
  }

  /** The date so many days after the issue, without quotes. */
  date(daysAfterIssue: number): string {
    return this.#calendar[this.#issueDay + daysAfterIssue] ?? '2045-01-01';
  }
}
