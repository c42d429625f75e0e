// Dates and times straight from the bytes of a JSON string. What is not in the usual form (escapes, no zone, offsets
// without a colon) is left to the readers of text in `records/avro/instant.ts` and `records/avro/instant.ts`, which
// decide what is valid.

const PLUS = 0x2b;
const MINUS = 0x2d;
const COLON = 0x3a;
const SPACE = 0x20;
const POINT = 0x2e;
const ZERO = 0x30;
const CAPITAL_T = 0x54;
const CAPITAL_Z = 0x5a;
const DAY_MS = 86_400_000;
const DAYS_TO_1970 = 719_163;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DAYS_BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const SECONDS_END = 19;
const FRACTION_DIGITS = 6;
const OFFSET_LENGTH = 6;
// The reader of text takes no longer one.
const LONGEST = 64;
export const DATE_LENGTH = 10;
export const LOCAL_TIME_LENGTH = 19;

/** The days since 1970-01-01 of `YYYY-MM-DD` at a position; NaN for anything else. */
export function readDays(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at);
  const ofCentury = twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const year = century * 100 + ofCentury;
  if (century > 99 || ofCentury > 99 || year < 1 || bytes[at + 4] !== MINUS || bytes[at + 7] !== MINUS)
    return Number.NaN;
  if (month < 1 || month > 12 || day < 1) return Number.NaN;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day > (MONTH_DAYS[month - 1] as number) + (isLeap && month === 2 ? 1 : 0)) return Number.NaN;
  const before = year - 1;
  const leapDays = (before >> 2) - Math.floor(before / 100) + Math.floor(before / 400) + (isLeap && month > 2 ? 1 : 0);
  return before * 365 + leapDays + (DAYS_BEFORE[month - 1] as number) + day - DAYS_TO_1970;
}

/** The milliseconds since 1970-01-01 00:00:00 of `YYYY-MM-DD HH:MM:SS` at a position; NaN for anything else. */
export function readLocalMs(bytes: Uint8Array, at: number): number {
  return bytes[at + DATE_LENGTH] === SPACE ? readDays(bytes, at) * DAY_MS + readTimeMs(bytes, at) : Number.NaN;
}

export class InstantReader {
  // Most instants of a response are of few days: that of the instant before is remembered by the words of its text.
  #firstWord = 0;
  #secondWord = 0;
  #lastWord = 0;
  #days = Number.NaN;
  /** The last instant had digits finer than a microsecond, not all zero. */
  rounded = false;

  /**
   * The microseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.f…]` and `Z` or `±HH:MM`, from `at` to `end`, half-even; NaN
   * for anything else. What stands at `end` is no digit.
   */
  micros({ bytes, view }: { readonly bytes: Uint8Array; readonly view: DataView }, at: number, end: number): number {
    this.rounded = false;
    let zoneAt = at + SECONDS_END;
    if (zoneAt >= end || end - at > LONGEST || bytes[at + DATE_LENGTH] !== CAPITAL_T) return Number.NaN;
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

// Above 99 when one of them is not a digit.
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - ZERO;
  const ones = (bytes[at + 1] as number) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 10_000;
}
