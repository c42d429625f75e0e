const DAY_MS = 86_400_000;
const DATE_LENGTH = 10;
const DATE_TIME_LENGTH = 19;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Days since 1970-01-01 of a date `YYYY-MM-DD`; null for any other form and for dates that do not exist. */
export function epochDays(text: string): number | null {
  return text.length === DATE_LENGTH ? daysAt(text) : null;
}

/** Milliseconds since 1970-01-01 00:00:00, without a zone, of `YYYY-MM-DD HH:MM:SS`; null for anything else. */
export function localEpochMs(text: string): number | null {
  if (text.length !== DATE_TIME_LENGTH || text[10] !== ' ' || text[13] !== ':' || text[16] !== ':') return null;
  return localMsAt(text);
}

/** Milliseconds of the date and the time of day in the first 19 characters, with any separator between them. */
export function localMsAt(text: string): number | null {
  const days = daysAt(text);
  const hours = digitsAt(text, 11, 2);
  const minutes = digitsAt(text, 14, 2);
  const seconds = digitsAt(text, 17, 2);
  if (days === null || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
    return null;
  return days * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** The text `YYYY-MM-DD` of a number of days since 1970-01-01. */
export function dateText(days: number): string {
  return new Date(days * DAY_MS).toISOString().slice(0, DATE_LENGTH);
}

/** The text `YYYY-MM-DD HH:MM:SS`, with `.mmm` where there are milliseconds, of a zone-less moment. */
export function localDateTimeText(epochMs: number): string {
  const text = new Date(epochMs).toISOString().replace('T', ' ').slice(0, -1);
  return text.endsWith('.000') ? text.slice(0, DATE_TIME_LENGTH) : text;
}

function daysAt(text: string): number | null {
  if (text[4] !== '-' || text[7] !== '-') return null;
  const year = digitsAt(text, 0, 4);
  const month = digitsAt(text, 5, 2);
  const day = digitsAt(text, 8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return null;
  return daysFromCivil(year, month, day);
}

function daysOfMonth(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (MONTH_DAYS[month - 1] ?? 0) + (leap ? 1 : 0);
}

// Howard Hinnant's days_from_civil: years begin in March, so that the leap day is the last of its year.
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The number that the digits make, or -1 when one of them is not a digit. */
export function digitsAt(text: string, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return -1;
    number = number * 10 + digit;
  }
  return number;
}
