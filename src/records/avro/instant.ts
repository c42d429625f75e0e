const PLUS = 0x2b;
const MINUS = 0x2d;
const COLON = 0x3a;
const SPACE = 0x20;
const POINT = 0x2e;
const ZERO = 0x30;
const CAPITAL_T = 0x54;
const CAPITAL_Z = 0x5a;
const DAY_MS = 86_400_000;
const SECONDS_END = 19;
const FRACTION_DIGITS = 6;
const OFFSET_LENGTH = 6;
const LONGEST_INSTANT = 64;
export const DATE_LENGTH = 10;
export const LOCAL_TIME_LENGTH = 19;
// `Date.UTC` reads years below 100 as 19xx. The calendar repeats after 400 years, so 400 years are added, then subtracted.
const CYCLE_YEARS = 400;
const CYCLE_DAYS = 146_097;

/** Reads `YYYY-MM-DD` at a position as days since 1970-01-01; NaN for any other text. */
export function readDays(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at);
  const ofCentury = twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const year = century * 100 + ofCentury;
  if (century > 99 || ofCentury > 99 || year < 1 || bytes[at + 4] !== MINUS || bytes[at + 7] !== MINUS)
    return Number.NaN;
  if (month < 1 || month > 12 || day < 1) return Number.NaN;
  const ms = Date.UTC(year + CYCLE_YEARS, month - 1, day);
  if (day > 28 && ms >= Date.UTC(year + CYCLE_YEARS, month, 1)) return Number.NaN;
  return ms / DAY_MS - CYCLE_DAYS;
}

/** Reads `YYYY-MM-DD HH:MM:SS` at a position as milliseconds since 1970-01-01 00:00:00; NaN for any other text. */
export function readLocalMs(bytes: Uint8Array, at: number): number {
  return bytes[at + DATE_LENGTH] === SPACE ? readDays(bytes, at) * DAY_MS + readTimeMs(bytes, at) : Number.NaN;
}

export class InstantReader {
  // Most instants of a response lie on the same few days. So the reader keeps the last day that it read. The three
  // words are the ten bytes of this day's text.
  #firstWord = 0;
  #secondWord = 0;
  #lastWord = 0;
  #days = Number.NaN;
  rounded = false;

  /**
   * Reads `YYYY-MM-DDTHH:MM:SS[.f…]` with `Z` or `±HH:MM`, from `at` to `end`, as microseconds since 1970, rounded
   * half-even. NaN for any other text. The byte at `end` must not be a digit.
   */
  micros({ bytes, view }: { readonly bytes: Uint8Array; readonly view: DataView }, at: number, end: number): number {
    this.rounded = false;
    let zoneAt = at + SECONDS_END;
    if (zoneAt >= end || end - at > LONGEST_INSTANT || bytes[at + DATE_LENGTH] !== CAPITAL_T) return Number.NaN;
    let fraction = 0;
    if (bytes[zoneAt] === POINT) {
      const first = zoneAt + 1;
      const finer = first + FRACTION_DIGITS;
      let i = first;
      for (; i < finer; i++) {
        const digit = (bytes[i] as number) - ZERO;
        if (digit < 0 || digit > 9) break;
        fraction = fraction * 10 + digit;
      }
      if (i === first) return Number.NaN;
      for (let k = i; k < finer; k++) fraction *= 10;
      zoneAt = i < finer ? i : this.#behindFiner(bytes, finer);
      if (this.rounded && this.#isUp(bytes, finer, zoneAt, fraction)) fraction += 1;
    }
    const ms = this.#readDays(bytes, view, at) * DAY_MS + readTimeMs(bytes, at) - readOffsetMs(bytes, zoneAt, end);
    return ms * 1_000 + fraction;
  }

  #readDays(bytes: Uint8Array, view: DataView, at: number): number {
    const first = view.getInt32(at);
    const second = view.getInt32(at + 4);
    const last = view.getInt16(at + 8);
    if (first !== this.#firstWord || second !== this.#secondWord || last !== this.#lastWord) {
      this.#firstWord = first;
      this.#secondWord = second;
      this.#lastWord = last;
      this.#days = readDays(bytes, at);
    }
    return this.#days;
  }

  #behindFiner(bytes: Uint8Array, start: number): number {
    let i = start;
    for (; ; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (!(digit >= 0 && digit <= 9)) return i;
      if (digit > 0) this.rounded = true;
    }
  }

  #isUp(bytes: Uint8Array, start: number, end: number, fraction: number): boolean {
    const first = (bytes[start] as number) - ZERO;
    if (first !== 5) return first > 5;
    for (let i = start + 1; i < end; i++) if (bytes[i] !== ZERO) return true;
    return fraction % 2 === 1;
  }
}

function readOffsetMs(bytes: Uint8Array, at: number, end: number): number {
  const sign = bytes[at];
  if (sign === CAPITAL_Z) return at + 1 === end ? 0 : Number.NaN;
  if ((sign !== PLUS && sign !== MINUS) || end - at !== OFFSET_LENGTH || bytes[at + 3] !== COLON) return Number.NaN;
  const hours = twoDigits(bytes, at + 1);
  const minutes = twoDigits(bytes, at + 4);
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (sign === MINUS ? -60_000 : 60_000) * (hours * 60 + minutes);
}

function readTimeMs(bytes: Uint8Array, at: number): number {
  const hours = twoDigits(bytes, at + 11);
  const minutes = twoDigits(bytes, at + 14);
  const seconds = twoDigits(bytes, at + 17);
  if (bytes[at + 13] !== COLON || bytes[at + 16] !== COLON) return Number.NaN;
  if (hours > 23 || minutes > 59 || seconds > 59) return Number.NaN;
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

// Returns a number above 99 if a character is not a digit.
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - ZERO;
  const ones = (bytes[at + 1] as number) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 10_000;
}

/** The days since 1970-01-01 of a date `YYYY-MM-DD`; null for any other form, and for a date that does not exist. */
export function epochDays(text: string): number | null {
  return numberOf(text, DATE_LENGTH, readDays);
}

/** The milliseconds since 1970-01-01 00:00:00 of `YYYY-MM-DD HH:MM:SS` without a zone; null for any other text. */
export function localEpochMs(text: string): number | null {
  return numberOf(text, LOCAL_TIME_LENGTH, readLocalMs);
}

function numberOf(text: string, length: number, read: (bytes: Uint8Array, at: number) => number): number | null {
  const bytes = Buffer.from(text);
  const number = bytes.length === length ? read(bytes, 0) : Number.NaN;
  return Number.isNaN(number) ? null : number;
}

/** An instant in microseconds since 1970-01-01T00:00:00Z. */
interface Instant {
  /** A bigint only if the value is not a safe integer. */
  readonly micros: number | bigint;
  /** True if non-zero digits below a microsecond were rounded (half-even). */
  readonly rounded: boolean;
}

// The years 1 to 9999 in UTC have four digits in ISO 8601, and most readers accept this range.
const FIRST_MICROS = -62_135_596_800_000_000n;
const LAST_MICROS = 253_402_300_799_999_999n;

// A date is a day of a month (2026-03-01), of a year (2026-060) or of a week (2026-W09-7). The last part of a time may have a fraction.
const DAY =
  /(?<year>\d{4})(?:(?<dash>-?)(?<month>\d\d)\k<dash>(?<day>\d\d)|-?(?<ofYear>\d{3})|-?W(?<week>\d\d)-?(?<weekday>[1-7]))/;
const TIME = /(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d))?)?(?:[.,](?<fraction>\d+))?/;
const ZONE = /(?<zone>[Zz]|(?<sign>[+-])(?<hours>\d\d)(?::?(?<minutes>\d\d))?)?/;
const ISO_8601 = new RegExp(`^${DAY.source}[Tt]${TIME.source}${ZONE.source}$`);

/**
 * Reads any date and time of ISO 8601, with `Z` or an offset from UTC. Second 60 is the first second of the next
 * minute, as in Unix time; 24:00:00 is the midnight that ends the day. Returns null if the text is not a date and time.
 * Returns `noZone` if the text has no zone and no zone is assumed.
 */
export function parseInstant(text: string, assumedZone: AssumedZone | null): Instant | 'noZone' | null {
  const parts = text.length > LONGEST_INSTANT ? undefined : ISO_8601.exec(text)?.groups;
  const days = parts === undefined ? null : dayOf(parts);
  if (parts === undefined || days === null) return null;
  const { fraction = '', zone } = parts;
  const [hour, minute, second] = [parts.hour, parts.minute, parts.second].map((part) => Number(part ?? 0)) as Three;
  if (hour > 24 || minute > 59 || second > 60) return null;
  const digits = 10n ** BigInt(fraction.length);
  const parted = BigInt(`0${fraction}`) * (parts.second ? 1n : parts.minute ? 60n : 3_600n);
  if (hour === 24 && (minute > 0 || second > 0 || parted > 0n)) return null;
  const localMs = days * DAY_MS + ((hour * 60 + minute) * 60 + second + Number(parted / digits)) * 1_000;
  if (zone === undefined && assumedZone === null) return 'noZone';
  const offsetMs = zone === undefined ? assumedZone?.offsetMs(localMs) : offsetOf(parts);
  if (offsetMs === undefined) return null;
  const scaled = (parted % digits) * 1_000_000n;
  const finer = 2n * (scaled % digits);
  const isUp = finer > digits || (finer === digits && (scaled / digits) % 2n === 1n);
  const micros = BigInt(localMs - offsetMs) * 1_000n + scaled / digits + (isUp ? 1n : 0n);
  if (micros < FIRST_MICROS || micros > LAST_MICROS) return null;
  const number = Number(micros);
  return { micros: Number.isSafeInteger(number) ? number : micros, rounded: finer > 0n };
}

type Three = [number, number, number];
type Parts = Readonly<Record<string, string | undefined>>;

function dayOf({ year, month, day, ofYear, week, weekday }: Parts): number | null {
  if (month !== undefined) return epochDays(`${year}-${month}-${day}`);
  // The first week of a year contains 4 January; the last week contains 28 December.
  const [from, to] = ofYear === undefined ? ['01-04', '12-28'] : ['01-01', '12-31'];
  const [first, last] = [epochDays(`${year}-${from}`), epochDays(`${year}-${to}`)];
  if (first === null || last === null) return null;
  if (ofYear !== undefined) {
    const found = first + Number(ofYear) - 1;
    return found < first || found > last ? null : found;
  }
  // 1970-01-01 was a Thursday.
  const monday = Math.floor((first + 3) / 7) * 7 - 3 + (Number(week) - 1) * 7;
  return Number(week) < 1 || monday > last ? null : monday + Number(weekday) - 1;
}

function offsetOf({ sign, hours = '0', minutes = '0' }: Parts): number | undefined {
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === '-' ? -60_000 : 60_000) * (Number(hours) * 60 + Number(minutes));
}

export function instantText(micros: number | bigint): string {
  const all = BigInt(micros);
  const below = ((all % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((all - below) / 1_000n)).toISOString().slice(0, SECONDS_END);
  const fraction = String(below).padStart(6, '0').replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

export function dateText(days: number): string {
  return new Date(days * DAY_MS).toISOString().slice(0, DATE_LENGTH);
}

/** Formats a moment without a zone as `YYYY-MM-DD HH:MM:SS`, followed by `.mmm` if it has milliseconds. */
export function localDateTimeText(epochMs: number): string {
  const text = new Date(epochMs).toISOString().replace('T', ' ').slice(0, -1);
  return text.endsWith('.000') ? text.slice(0, LOCAL_TIME_LENGTH) : text;
}

/** The zone from the settings for instants that are sent without a zone. */
export interface AssumedZone {
  /** The zone's offset from UTC in milliseconds at a local time. `localMs` counts the local time as if it were UTC. */
  offsetMs(localMs: number): number;
}

// Zones change their clocks only at a full quarter of an hour.
const SLOT_MS = 900_000;
const MOST_SLOTS = 4_096;

/**
 * If clocks show a local time twice, the earlier instant counts. If clocks skip a local time, the earlier offset counts.
 * @param name the name of a time zone, such as UTC or Europe/Zurich
 * @throws RangeError for an unknown name; the settings are already checked
 */
export function createAssumedZone(name: string): AssumedZone {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  const known = new Map<number, number>();

  function offsetAt(utcMs: number): number {
    const [, sign, ...parts] = /(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(utcMs)) ?? [];
    const [hours, minutes, seconds] = parts.map((part) => Number(part ?? 0)) as Three;
    return (sign === '-' ? -1_000 : 1_000) * ((hours * 60 + minutes) * 60 + seconds);
  }

  function find(localMs: number): number {
    const before = offsetAt(localMs - DAY_MS);
    const after = offsetAt(localMs + DAY_MS);
    return offsetAt(localMs - before) !== before && offsetAt(localMs - after) === after ? after : before;
  }

  return {
    offsetMs(localMs) {
      const slot = Math.floor(localMs / SLOT_MS);
      let offset = known.get(slot);
      if (offset === undefined) {
        if (known.size >= MOST_SLOTS) known.clear();
        offset = find(slot * SLOT_MS);
        known.set(slot, offset);
      }
      return offset;
    },
  };
}
