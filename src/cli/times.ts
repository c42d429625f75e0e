import { InvalidArgumentError } from 'commander';
import { epochDays } from '../avro/calendar.ts';
import { durationMs } from '../config/duration.ts';
import { systemClock } from '../support/clock.ts';

/** Reads an option that is a time with its zone, or how long ago; gives milliseconds since the epoch. */
export function pastTimeMs(text: string): number {
  const agoMs = durationMs(text);
  // Before 1970 there was nothing either.
  if (agoMs !== undefined) return Math.max(0, systemClock.wallMs() - agoMs);
  // Without a zone the time is ambiguous; and Date.parse takes a day that no month has for one of the next month.
  const isTime = /T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) && epochDays(text.split('T')[0] ?? '') !== null;
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (ms > systemClock.wallMs()) throw new InvalidArgumentError('Expected a time in the past.');
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a time with its zone, or a duration like 6h.');
  return ms;
}

/** Reads an option that is a duration; gives milliseconds. */
export function durationOption(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('Expected a duration, like 250ms, 30s or 5m.');
  return ms;
}
