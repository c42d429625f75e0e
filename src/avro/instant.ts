import { digitsAt, localMsAt } from './calendar.ts';
import type { AssumedZone } from './time-zone.ts';

/** An instant in microseconds since 1970-01-01T00:00:00Z. */
export interface Instant {
  /** A bigint only where it is not a safe integer. */
  readonly micros: number | bigint;
  /** Whether there were finer digits, not all of them zero: rounded half-even, as decimals are. */
  readonly rounded: boolean;
}

const SECONDS_END = 19;
// Room for a fraction of any useful length; a longer text is not an instant.
const LONGEST_INSTANT = 64;
const LARGEST_SAFE_SECONDS = 9_000_000_000;
// The years 1 to 9999 in UTC: four digits in ISO 8601, and the range that most readers take.
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

/**
 * Reads `YYYY-MM-DDTHH:MM:SS`, a fraction of any length, and `Z` or an offset from UTC (ISO 8601). `null`: another form;
 * `noZone`: neither `Z` nor an offset, and no zone is assumed.
 */
export function parseInstant(text: string, assumedZone: AssumedZone | null): Instant | 'noZone' | null {
  if (text.length < SECONDS_END || text.length > LONGEST_INSTANT) return null;
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

/** The text of an instant, in UTC: `2026-01-07T12:00:00.5Z`. */
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
