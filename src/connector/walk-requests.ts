import { FreshRecords } from '../kafka/fresh-records.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { WalkRequest } from './core/core-state.ts';
import { decodeState } from './source-state.ts';

/** The walks that operators ask for. */
export interface WalkRequests {
  /** What is known now of this source. */
  newest(source: string): NewestWalk;
}

export interface NewestWalk {
  /** The walk that was asked for last, served or not; null when none was. */
  readonly request: WalkRequest | null;
  /** Aborts when another walk is asked for: whoever waits then looks again. */
  readonly superseded: AbortSignal;
}

export interface WalkRequestsOptions {
  /** The sources that run here; what is wanted of others is passed over. */
  readonly sources: readonly string[];
  /** Told of a value that cannot be read; what was known of the source before goes on. */
  readonly onUnreadable: (what: { readonly source: string; readonly offset: string; readonly why: string }) => void;
}

interface Known {
  request: WalkRequest | null;
  superseded: AbortController;
}

/**
 * Learns the walks from the records of the states topic, whoever reads them. Records may come several times and from
 * several readers, each in the order of the topic: what lies before a record that was taken is old, and taking it again
 * would serve a walk twice that has long been done.
 */
export function createWalkRequests({ sources, onUnreadable }: WalkRequestsOptions): WalkRequests & {
  /** Takes one record of the states topic. */
  take(record: CommittedRecord): void;
} {
  const fresh = new FreshRecords();
  const known = new Map<string, Known>(
    sources.map((source) => [source, { request: null, superseded: new AbortController() }]),
  );
  return {
    newest(source) {
      const found = known.get(source);
      if (found === undefined) throw new Error(`There is no source ${source} here.`);
      return { request: found.request, superseded: found.superseded.signal };
    },
    take(record) {
      if (record.key === null || !fresh.isFresh(record)) return;
      const source = record.key.toString();
      const found = known.get(source);
      if (found === undefined) return;
      const decoded = decodeState(record);
      if (decoded.kind === 'unreadable') {
        onUnreadable({ source, offset: String(record.offset), why: decoded.why });
        return;
      }
      const { walk } = decoded.state;
      const isAnother = walk?.id !== found.request?.id;
      found.request = walk && { id: walk.id, allowShrink: walk.allowShrink };
      if (!isAnother) return;
      found.superseded.abort();
      found.superseded = new AbortController();
    },
  };
}
