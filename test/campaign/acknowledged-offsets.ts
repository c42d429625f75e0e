import { compareStreamOffsets } from '../../src/sources/stream/stream-response.ts';
import type { Reported } from './replica.ts';

/** What a connector's replicas report of its offset in the stream of events, one after the other. */
export interface AcknowledgedOffsets {
  report(event: Reported['event'], since: string | null): void;
  /**
   * How often a source found an offset at its start that came before one whose commit had been acknowledged. Its broker has
   * forgotten the commit; the source writes the same again, which is no fault unless a part of it was kept.
   */
  forgotten(): number;
}

export function acknowledgedOffsets(): AcknowledgedOffsets {
  let newest: string | null = null;
  let forgotten = 0;
  const isBefore = (since: string) => newest !== null && (compareStreamOffsets(since, newest) ?? 0) < 0;
  return {
    report(event, since) {
      if (since === null) return;
      if (event === 'sourceStarted' && isBefore(since)) {
        forgotten += 1;
        newest = since;
      } else if (event === 'streamCommitted' && !isBefore(since)) newest = since;
    },
    forgotten: () => forgotten,
  };
}
