import { InvalidArgumentError } from 'commander';
import { durationMs } from '../../config/duration.ts';
import { epochDays, parseInstant } from '../../records/avro/instant.ts';
import { systemClock } from '../../support/clock.ts';

const HIGHEST_PORT = 65_535;
const HIGHEST_RATE = 10_000;
const LONGEST_ID = 512;
const LONGEST_MS = 86_400_000;

export function wholeNumberOption(text: string): number {
  return numberUpTo(Number.MAX_SAFE_INTEGER, /^[0-9]+$/, text, 'a whole number');
}

export function limitOption(text: string): number {
  return numberUpTo(Number.MAX_SAFE_INTEGER, /^0*[1-9][0-9]*$/, text, 'a whole number above 0');
}

/** Reads a TCP port; 0 means any free port. */
export function portNumber(text: string): number {
  return numberUpTo(HIGHEST_PORT, /^[0-9]+$/, text, `a port from 0 to ${HIGHEST_PORT}`);
}

export function ratePerSecond(text: string): number {
  return numberUpTo(HIGHEST_RATE, /^[0-9]/, text, `a number from 0 to ${HIGHEST_RATE}`);
}

function numberUpTo(highest: number, form: RegExp, text: string, expected: string): number {
  const value = Number(text);
  if (form.test(text) && value <= highest) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

/** Reads a time with its zone, or a duration before now. Returns milliseconds since the epoch. */
export function pastTimeMs(text: string): number {
  const agoMs = durationMs(text);
  if (agoMs !== undefined) return Math.max(0, systemClock.wallMs() - agoMs);
  // A time without a zone is ambiguous, and Date.parse reads February 30 as a day in March.
  const isTime = /T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) && epochDays(text.split('T')[0] ?? '') !== null;
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (ms > systemClock.wallMs()) throw new InvalidArgumentError('Expected a time in the past.');
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a time with its zone, or a duration like 6h.');
  return ms;
}

/** Reads an instant with its zone. Returns milliseconds since the epoch; null for any other text. */
export function instantMs(text: string): number | null {
  const instant = parseInstant(text, null);
  return instant === null || instant === 'noZone' ? null : Number(instant.micros) / 1_000;
}

export function durationOption(text: string): number {
  const ms = durationMs(text) ?? Number.POSITIVE_INFINITY;
  if (ms > LONGEST_MS) throw new InvalidArgumentError('Expected a duration of at most 1d, like 250ms, 30s or 5m.');
  return ms;
}

export function someText(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected some text.');
  return text;
}

/** Reads the base URL of a server, without a slash at its end. */
export function baseAddress(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('Expected a URL like http://127.0.0.1:8083.');
  }
  return text.replace(/\/+$/, '');
}

/** Reads an id that becomes a part of a URL path. There, one or two dots would name another path. */
export function pathPart(expected: string): (text: string) => string {
  return (text) => {
    if (text !== '' && text.length <= LONGEST_ID && !/^\.{1,2}$/.test(text)) return text;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}
