import { STATES_PARTITION } from '../connector/source-state.ts';
import type { WalkRequests } from '../connector/walk-requests.ts';
import { createWantedStates } from '../connector/wanted-states.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import type { WorkerTargets } from '../worker/target.ts';

export interface RequestedStates {
  readonly walks: WalkRequests;
  readonly targets: WorkerTargets;
  /**
   * Reads the states topic to its end. Called after the fence of each writer: only then is it certain that no walk that
   * the earlier holder has served, and that was superseded for it, is taken for one still to be done.
   */
  catchUp(signal: AbortSignal): Promise<void>;
  /** Stays on the topic until the signal aborts; rejects with its reason. */
  follow(signal: AbortSignal): Promise<never>;
}

/** What is wanted of the sources, as the states topic says. */
export function createRequestedStates(options: {
  readonly kafka: KafkaCluster;
  readonly topic: string;
  readonly sources: readonly string[];
  readonly events: ConnectorEvents;
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
