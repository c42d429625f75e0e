import { InvalidArgumentError } from 'commander';
import { epochDays } from '../avro/calendar.ts';
import { durationMs } from '../config/duration.ts';
import { systemClock } from '../support/clock.ts';

/** Reads an option that is a time with its zone, or how long ago; gives milliseconds since the epoch. */
export function pastTimeMs(text: string): number {
  const agoMs = durationMs(text);
  // Before 1970 there was nothing either.
  if (agoMs !== undefined) return Math.max(0, systemClock.wallMs() - agoMs);
  // Without a zone, nobody knows which time is meant; and a day that no month has would be one of the next.
  const isTime = /T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) && epochDays(text.split('T')[0] ?? '') !== null;
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (ms > systemClock.wallMs()) throw new InvalidArgumentError('A time in the past is needed.');
  if (Number.isNaN(ms)) throw new InvalidArgumentError('A time with its zone is needed, or a duration like 6h.');
  return ms;
}

/** Reads an option that is a duration; gives milliseconds. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('A duration is needed, like 250ms, 30s or 5m.');
  return ms;
}
