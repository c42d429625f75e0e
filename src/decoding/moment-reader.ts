// Dates and times straight from the bytes of a JSON string. What is not in the usual form (escapes, offsets, fractions of
// other lengths) is left to the readers of text in `avro/calendar.ts` and `avro/instant.ts`, which decide what is valid.

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
const MOST_FRACTION_DIGITS = 6;

export const DATE_LENGTH = 10;
export const LOCAL_TIME_LENGTH = 19;
/** Of an instant with one digit more than is kept, as .NET writes them; the last but one is that digit. */
export const FINER_INSTANT_LENGTH = SECONDS_END + 1 + MOST_FRACTION_DIGITS + 2;

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
  return bytes[at + DATE_LENGTH] === SPACE ? readMs(bytes, at) : Number.NaN;
}

/** The microseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.fffffff]Z`, from `at` to `end`, half-even; NaN for anything else. */
export function readMicros(bytes: Uint8Array, at: number, end: number): number {
  const zoneAt = end - 1;
  if (zoneAt - at < SECONDS_END || bytes[zoneAt] !== CAPITAL_Z || bytes[at + DATE_LENGTH] !== CAPITAL_T)
    return Number.NaN;
  let fraction = 0;
  if (zoneAt > at + SECONDS_END) {
    const digits = zoneAt - at - SECONDS_END - 1;
    if (bytes[at + SECONDS_END] !== POINT || digits < 1 || digits > MOST_FRACTION_DIGITS + 1) return Number.NaN;
    for (let i = 0; i < MOST_FRACTION_DIGITS; i++) {
      const digit = i < digits ? (bytes[at + SECONDS_END + 1 + i] as number) - ZERO : 0;
      if (digit < 0 || digit > 9) return Number.NaN;
      fraction = fraction * 10 + digit;
    }
    const finer = digits > MOST_FRACTION_DIGITS ? (bytes[zoneAt - 1] as number) - ZERO : 0;
    if (finer < 0 || finer > 9) return Number.NaN;
    if (finer > 5 || (finer === 5 && fraction % 2 === 1)) fraction += 1;
  }
  return readMs(bytes, at) * 1_000 + fraction;
}

function readMs(bytes: Uint8Array, at: number): number {
  const hours = twoDigits(bytes, at + 11);
  const minutes = twoDigits(bytes, at + 14);
  const seconds = twoDigits(bytes, at + 17);
  if (bytes[at + 13] !== COLON || bytes[at + 16] !== COLON) return Number.NaN;
  if (hours > 23 || minutes > 59 || seconds > 59) return Number.NaN;
  return readDays(bytes, at) * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

// Above 99 when one of them is not a digit.
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - ZERO;
  const ones = (bytes[at + 1] as number) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 10_000;
}
