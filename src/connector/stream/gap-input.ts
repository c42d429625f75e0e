import { type GapInput, isUnmovedForLong } from './retention-gap.ts';
import { compareStreamOffsets } from './stream-offset.ts';
import { isNewestLower, type StreamReading, type StreamResponse } from './stream-response.ts';

/** Of our offset, when a response to it has come. */
export interface OffsetKnown {
  /** Whether a gap is suspected behind it. */
  readonly isSuspected: boolean;
  /** Whether that is so by all clocks: then an empty response speaks against it. */
  readonly isOver: boolean;
  /** How long ago it was known to be one that is served, at most. */
  readonly ageMs: number;
  /** Whether the stream was not reset lately: then a lower offset in responses is no sign of it. */
  readonly isNoReset: boolean;
}

/** What a response to our offset says for or against it. `response`: null of a refusal. */
export function gapInput(
  reading: StreamReading | 'refused',
  { since, held }: { readonly since: string; readonly held: { readonly since: string } | null },
  response: StreamResponse | null,
  { isSuspected, isOver, ageMs, isNoReset }: OffsetKnown,
): GapInput {
  if (reading === 'moved') return { kind: 'healthy' };
  // A provider may answer what it no longer knows with an offset that is its lowest, or none at all.
  const saysNothing = reading === 'quiet' || (reading === 'lower' && isNoReset && isOver);
  if (!saysNothing) return { kind: 'sign', sign: reading };
  if (!isNoReset && namesLower(reading, since, response)) return { kind: 'sign', sign: 'lower' };
  if (isOver) return { kind: 'sign', sign: 'quiet' };
  if (held === null) {
    return isSuspected || isUnmovedForLong(ageMs)
      ? { kind: 'sign', sign: 'unmoved', isSuspected }
      : { kind: 'healthy' };
  }
  // Where offsets have no order, the one that is held may lie before ours.
  const isBehindOurs = (compareStreamOffsets(held.since, since) ?? 0) > 0;
  return isBehindOurs ? { kind: 'sign', sign: 'overtaken', held: held.since, isSuspected } : { kind: 'healthy' };
}

/** Whether the response names an offset below ours, as where to go on or as the newest one: a reset looks like that. */
export function namesLower(
  reading: StreamReading | 'refused',
  since: string,
  response: StreamResponse | null,
): boolean {
  if (response === null || reading === 'moved') return false;
  return reading === 'lower' || isNewestLower(since, response);
}
