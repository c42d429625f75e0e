import { STATES_PARTITION } from '../connector/source-state.ts';
import { createWalkRequests, type WalkRequests } from '../connector/walk-requests.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';

export interface RequestedWalks {
  readonly requests: WalkRequests;
  /**
   * Reads the states topic to its end. Called after the fence of each writer: only then is it certain that no walk that
   * the earlier holder has served, and that was superseded for it, is taken for one still to be done.
   */
  catchUp(signal: AbortSignal): Promise<void>;
  /** Stays on the topic until the signal aborts; rejects with its reason. */
  follow(signal: AbortSignal): Promise<never>;
}

/** The walks that are asked for through the states topic. */
export function createRequestedWalks(options: {
  readonly kafka: KafkaCluster;
  readonly topic: string;
  readonly sources: readonly string[];
  readonly events: ConnectorEvents;
}): RequestedWalks {
  const { kafka, topic, sources, events } = options;
  const requests = createWalkRequests({ sources, onUnreadable: events.stateUnreadable });
  const log = { topic, partitions: [STATES_PARTITION], onRecord: requests.take };
  return {
    requests,
    catchUp: (signal) => kafka.logReader.readToEnd({ ...log, signal }),
    follow: (signal) => kafka.logTail.follow({ ...log, signal }),
  };
}
