import type { SourceOffset } from '../../kafka/offset-store.ts';

/** What was committed before an operator reset the offset of a source; null where that is no longer known. */
export interface ResetOffset {
  readonly filter: string | null;
  readonly since: string | null;
  /** When the stream had last answered. */
  readonly dateMs: number | null;
}

/** Reads the offset before a reset, of whichever version: what is lost with it is told, nothing goes on from it. */
export function readResetOffset({ filter, since, serverDate }: SourceOffset): ResetOffset {
  const dateMs = typeof serverDate === 'string' ? Date.parse(serverDate) : Number.NaN;
  return { filter: textOrNull(filter), since: textOrNull(since), dateMs: Number.isNaN(dateMs) ? null : dateMs };
}

function textOrNull(value: SourceOffset[string] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
