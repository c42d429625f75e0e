const DATE_LENGTH = 10;
const DATE_TIME_LENGTH = 19;

/** An instant in microseconds since 1970-01-01T00:00:00Z. */
interface Instant {
  /** A bigint only where it is not a safe integer. */
  readonly micros: number | bigint;
  /** There were finer digits, not all zero: rounded half-even, as decimals are. */
  readonly rounded: boolean;
}

const DAY_MS = 86_400_000;
const SECONDS_END = 19;
// Room for a fraction of any useful length; a longer text is not an instant.
const LONGEST_INSTANT = 64;
const LARGEST_SAFE_SECONDS = 9_000_000_000;
// The years 1 to 9999 in UTC: four digits in ISO 8601, and the range that most readers take.
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

/**
 * Reads a date and time of ISO 8601, with `Z` or an offset from UTC: `YYYY-MM-DDTHH:MM:SS` with a fraction of any
 * length, and every other form (`OTHER_FORMS`). A second 60 is the first one of the next minute, as in Unix time;
 * 24:00:00 is the midnight that ends the day. `null`: not a date and time; `noZone`: neither `Z` nor an offset, and no
 * zone is assumed.
 */
export function parseInstant(text: string, assumedZone: AssumedZone | null): Instant | 'noZone' | null {
  if (text.length > LONGEST_INSTANT) return null;
  const instant = parseUsual(text, assumedZone);
  if (instant !== null) return instant;
  const usual = usualForm(text);
  return usual === null ? null : parseUsual(usual, assumedZone);
}

function parseUsual(text: string, assumedZone: AssumedZone | null): Instant | 'noZone' | null {
  if ((text[10] !== 'T' && text[10] !== 't') || text[13] !== ':' || text[16] !== ':') return null;
  const localMs = localMsAt(text);
  if (localMs === null) return null;
  const hasFraction = text[SECONDS_END] === '.' || text[SECONDS_END] === ',';
  let zoneAt = SECONDS_END;
  if (hasFraction) {
    zoneAt += 1;
    while (isDigit(text.charCodeAt(zoneAt))) zoneAt += 1;
    if (zoneAt === SECONDS_END + 1) return null;
  }
  const offsetMs = zoneOffsetMs(text, zoneAt, localMs, assumedZone);
  if (offsetMs === null || offsetMs === 'noZone') return offsetMs;
  const seconds = (localMs - offsetMs) / 1_000;
  const { micros, rounded } = hasFraction ? fractionMicros(text, zoneAt) : { micros: 0, rounded: false };
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND || (seconds === LAST_SECOND && micros === 1_000_000)) return null;
  const isSafe = Math.abs(seconds) < LARGEST_SAFE_SECONDS;
  return { micros: isSafe ? seconds * 1_000_000 + micros : BigInt(seconds) * 1_000_000n + BigInt(micros), rounded };
}

// Without seconds or minutes, and then perhaps with a fraction of the last one; basic, without - and :; by the day of
// the year or of the week; at :60 and 24:00.
const OTHER_FORMS =
  /^(\d{4})(?:-(\d\d)-(\d\d)|(\d\d)(\d\d)|-?(\d{3})|-?W(\d\d)-?([1-7]))[Tt](\d\d)(?::?(\d\d)(?::?(\d\d))?)?(?:[.,](\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/;

function usualForm(text: string): string | null {
  const parts = OTHER_FORMS.exec(text);
  if (parts === null) return null;
  const [, year = '', month = parts[4], day = parts[5], , , ordinal, week, weekday, hours, minutes, seconds] = parts;
  const [fraction = '', zone = ''] = parts.slice(12);
  const days = ordinal
    ? dayOfYear(year, Number(ordinal))
    : week
      ? dayOfWeek(year, Number(week), Number(weekday))
      : epochDays(`${year}-${month}-${day}`);
  const [hour, minute, second] = [hours, minutes, seconds].map((part) => Number(part ?? 0)) as [number, number, number];
  if (days === null || hour > 24 || minute > 59 || second > 60) return null;
  // A fraction belongs to the last part that is given.
  const unit = seconds !== undefined ? 1n : minutes !== undefined ? 60n : 3_600n;
  const digits = 10n ** BigInt(fraction.length);
  const parted = BigInt(`0${fraction}`) * unit;
  if (hour === 24 && (minute > 0 || second > 0 || parted > 0n)) return null;
  const ms = days * DAY_MS + ((hour * 60 + minute) * 60 + second + Number(parted / digits)) * 1_000;
  const rest = fraction === '' ? '' : `.${String(parted % digits).padStart(fraction.length, '0')}`;
  return `${new Date(ms).toISOString().slice(0, SECONDS_END)}${rest}${zone}`;
}

function dayOfYear(year: string, day: number): number | null {
  const [first, last] = [epochDays(`${year}-01-01`), epochDays(`${year}-12-31`)];
  return first === null || last === null || day < 1 || first + day - 1 > last ? null : first + day - 1;
}

/** The first week of a year has its 4th of January, the last one its 28th of December. */
function dayOfWeek(year: string, week: number, weekday: number): number | null {
  const [early, late] = [epochDays(`${year}-01-04`), epochDays(`${year}-12-28`)];
  if (early === null || late === null || week < 1) return null;
  // 1970-01-01 was a Thursday.
  const monday = Math.floor((early + 3) / 7) * 7 - 3 + (week - 1) * 7;
  return monday > late ? null : monday + weekday - 1;
}

export function instantText(micros: number | bigint): string {
  const all = BigInt(micros);
  const below = ((all % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((all - below) / 1_000n)).toISOString().slice(0, SECONDS_END);
  const fraction = String(below).padStart(6, '0').replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

function zoneOffsetMs(text: string, at: number, localMs: number, assumed: AssumedZone | null) {
  if (at === text.length) return assumed === null ? 'noZone' : assumed.offsetMs(localMs);
  const sign = text[at];
  if (sign === 'Z' || sign === 'z') return text.length === at + 1 ? 0 : null;
  if (sign !== '+' && sign !== '-') return null;
  const hours = digitsAt(text, at + 1, 2);
  const hasColon = text[at + 3] === ':';
  const minutesAt = at + (hasColon ? 4 : 3);
  const isWhole = !hasColon && text.length === at + 3;
  const minutes = isWhole ? 0 : digitsAt(text, minutesAt, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null;
  if (!isWhole && text.length !== minutesAt + 2) return null;
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function fractionMicros(text: string, end: number): { readonly micros: number; readonly rounded: boolean } {
  let micros = 0;
  for (let at = SECONDS_END + 1; at < SECONDS_END + 7; at++) {
    micros = micros * 10 + (at < end ? text.charCodeAt(at) - 0x30 : 0);
  }
  const finer = text.slice(SECONDS_END + 7, end).replace(/0+$/, '');
  if (finer === '') return { micros, rounded: false };
  const isTie = finer === '5';
  const up = isTie ? micros % 2 === 1 : finer >= '5';
  return { micros: up ? micros + 1 : micros, rounded: true };
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

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
function localMsAt(text: string): number | null {
  const days = daysAt(text);
  const hours = digitsAt(text, 11, 2);
  const minutes = digitsAt(text, 14, 2);
  const seconds = digitsAt(text, 17, 2);
  if (days === null || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
    return null;
  return days * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

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
  const [year, month, day] = [digitsAt(text, 0, 4), digitsAt(text, 5, 2), digitsAt(text, 8, 2)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that does not exist becomes another one.
  return year >= 1 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / DAY_MS : null;
}

/** The number that the digits make, or -1 when one of them is not a digit. */
function digitsAt(text: string, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** The zone of instants that are sent without one, because the settings name it. */
export interface AssumedZone {
  /** How far the zone was ahead of UTC when its clocks showed this, given in milliseconds as if they showed UTC. */
  offsetMs(localMs: number): number;
}

// Clocks change only at full quarters of an hour.
const SLOT_MS = 900_000;
const MOST_SLOTS = 4_096;

/**
 * @param name of a time zone, such as UTC or Europe/Zurich. In the hour that clocks show twice the first one counts; a
 * time that they skip is counted with the offset from before the change.
 * @throws RangeError for an unknown name; the settings have been checked
 */
export function createAssumedZone(name: string): AssumedZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    era: 'short',
  });
  const known = new Map<number, number>();

  function offsetAt(utcMs: number): number {
    const parts = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
    const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year');
    const shown = new Date(0);
    shown.setUTCFullYear(year, part('month') - 1, part('day'));
    shown.setUTCHours(part('hour'), part('minute'), part('second'));
    return shown.getTime() - Math.floor(utcMs / 1_000) * 1_000;
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
