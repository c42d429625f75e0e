import type { KafkaCluster } from '../kafka/cluster.ts';
import type { Events } from '../observe/events.ts';
import { STATES_PARTITION } from '../sources/source-state.ts';
import { createWantedStates, type WalkRequests } from '../sources/wanted-states.ts';
import type { WorkerTargets } from '../worker/target.ts';

export interface RequestedStates {
  readonly walks: WalkRequests;
  readonly targets: WorkerTargets;
  /**
   * Reads the states topic to its end. Called after the fence of each writer: only then is it certain that no walk that
   * the earlier holder has served, and that was superseded for it, is taken for one still to be done.
   */
  catchUp(signal: AbortSignal): Promise<void>;
  follow(signal: AbortSignal): Promise<never>;
}

/** The requests to the sources, as the states topic has them. */
export function createRequestedStates(options: {
  readonly kafka: KafkaCluster;
  readonly topic: string;
  readonly sources: readonly string[];
  readonly events: Events;
}): RequestedStates {
  const { kafka, topic, sources, events } = options;
  const { walks, targets, take } = createWantedStates({ sources, onUnreadable: events.stateUnreadable });
  const log = { topic, partitions: [STATES_PARTITION], onRecord: take };
  return {
    walks,
    targets,
    catchUp: (signal) => kafka.logReader.readToEnd({ ...log, signal }),
    follow: (signal) => kafka.logTail.follow({ ...log, signal }),
  };
}
