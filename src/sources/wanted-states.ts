import { ConnectorError } from '../errors.ts';
import { type KafkaCluster, untilReplaced } from '../kafka/cluster.ts';
import { FreshRecords } from '../kafka/log-reader.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { Events } from '../observe/events.ts';
import type { Clock } from '../support/clock.ts';
import type { WorkerTargets } from '../worker/target.ts';
import { decodeState, NOTHING_WANTED, type SourceState, STATES_PARTITION } from './source-state.ts';
import type { WalkRequest } from './walk/instruments-messages.ts';

export interface WantedStates {
  readonly walks: WalkRequests;
  readonly targets: WorkerTargets;
}

/** The commands of operators, read from the states topic. */
export interface RequestedStates extends WantedStates {
  /**
   * Reads the states topic to its end. Call this after the writer has fenced the previous owner of the partition. Then
   * this process knows every request whose walk the previous owner began. Otherwise it would begin a second walk.
   */
  catchUp(signal: AbortSignal): Promise<void>;
  follow(signal: AbortSignal): Promise<never>;
}

export function createRequestedStates(options: {
  readonly kafka: KafkaCluster;
  readonly topic: string;
  readonly sources: readonly string[];
  readonly events: Events;
  readonly clock: Clock;
}): RequestedStates {
  const { kafka, topic, sources, events, clock } = options;
  const { take, startAgain, ...wanted } = createWantedStates(sources, events.stateUnreadable);
  const log = { topic, partitions: [STATES_PARTITION], onRecord: take };
  return {
    ...wanted,
    catchUp: (signal) => kafka.logReader.readToEnd({ ...log, signal }),
    async follow(signal) {
      for (;;) {
        const over = new AbortController();
        const within = AbortSignal.any([signal, over.signal]);
        const replaced = untilReplaced({ kafka, known: new Map([[topic, null]]), clock, signal: within });
        await Promise.race([kafka.logTail.follow({ ...log, signal: within }), replaced]).catch((error: unknown) => {
          over.abort();
          if (!(error instanceof ConnectorError) || error.code !== 'TOPIC_REPLACED') throw error;
        });
        startAgain();
      }
    },
  };
}

interface Known {
  wanted: SourceState;
  restartEpoch: number;
  failedRestartEpoch: number;
  changed: AbortController;
  walkSuperseded: AbortController;
}

/**
 * Keeps the newest requested state of each source, from the records of the states topic. Several readers may deliver
 * the same record, so a record that is not newer than the last record is ignored. Otherwise one request could cause two
 * walks. Records of sources that are not in `sources` and unreadable records change nothing. `startAgain` is called
 * when the topic was created again: its offsets begin again. Exported for tests.
 */
export function createWantedStates(
  sources: readonly string[],
  onUnreadable: Events['stateUnreadable'],
): WantedStates & { take(record: CommittedRecord): void; startAgain(): void } {
  let fresh = new FreshRecords();
  const known = new Map<string, Known>(sources.map((source) => [source, nothingKnown()]));
  const of = (source: string): Known => {
    const found = known.get(source);
    if (found === undefined) throw new Error(`There is no source ${source} here.`);
    return found;
  };
  return {
    walks: {
      newest(source) {
        const { wanted, walkSuperseded } = of(source);
        return { request: wanted.walk, superseded: walkSuperseded.signal };
      },
    },
    targets: {
      of(source) {
        const { wanted, restartEpoch, failedRestartEpoch, changed } = of(source);
        return { state: wanted.state, restartEpoch, failedRestartEpoch, changed: changed.signal };
      },
    },
    startAgain() {
      fresh = new FreshRecords();
    },
    take(record) {
      if (record.key === null || !fresh.isFresh(record)) return;
      const source = record.key.toString();
      const found = known.get(source);
      if (found === undefined) return;
      const decoded = decodeState(record);
      if (decoded === null) onUnreadable({ source, offset: String(record.offset) });
      else update(found, decoded);
    },
  };
}

function nothingKnown(): Known {
  return {
    wanted: NOTHING_WANTED,
    restartEpoch: 0,
    failedRestartEpoch: 0,
    changed: new AbortController(),
    walkSuperseded: new AbortController(),
  };
}

function update(known: Known, wanted: SourceState): void {
  const before = known.wanted;
  known.wanted = wanted;
  const isRestart = wanted.restart !== null && wanted.restart.id !== before.restart?.id;
  const isStop = wanted.state === 'stopped' && before.state !== 'stopped';
  if (isRestart || isStop) known.failedRestartEpoch += 1;
  if (isStop || (isRestart && wanted.restart?.onlyFailed === false)) known.restartEpoch += 1;
  const { changed, walkSuperseded } = known;
  if (isRestart || wanted.state !== before.state) {
    known.changed = new AbortController();
    changed.abort();
  }
  if (wanted.walk?.id !== before.walk?.id) {
    known.walkSuperseded = new AbortController();
    walkSuperseded.abort();
  }
}

export interface WalkRequests {
  /** `request`: the newest request, even if its walk has begun. `superseded`: aborts at the next request. */
  newest(source: string): { readonly request: WalkRequest | null; readonly superseded: AbortSignal };
}
