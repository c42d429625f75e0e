import type { SourceOffset } from '../../kafka/offset-store.ts';

/** What was committed before an operator reset the offset of a source; fields are null where that is unknown. */
export interface ResetOffset {
  readonly filter: string | null;
  readonly since: string | null;
  /** When the stream had last answered. */
  readonly dateMs: number | null;
}

/** Reads the offset before a reset, of any version: it is reported as lost, and nothing continues from it. */
export function readResetOffset({ filter, since, serverDate }: SourceOffset): ResetOffset {
  const dateMs = typeof serverDate === 'string' ? Date.parse(serverDate) : Number.NaN;
  return { filter: textOrNull(filter), since: textOrNull(since), dateMs: Number.isNaN(dateMs) ? null : dateMs };
}

function textOrNull(value: SourceOffset[string] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
