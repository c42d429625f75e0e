/** The parts of kafkajs that fetch from each broker in a loop of its own, until they are stopped. */
interface FetchManager {
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface FetchManagerOptions {
  readonly fetch: (nodeId: number) => Promise<readonly unknown[]>;
}

export type CreateFetchManager = (options: FetchManagerOptions) => FetchManager;

/**
 * Patch M: what was stopped fetches no more. When another broker leads a partition, the original ends its loops and begins
 * new ones. If a member leaves in between, it stops those that have ended already, and nothing ends the new ones: a fetch
 * of a member that has left returns at once, without any wait, so that they take the whole process, which does nothing else
 * any more, for ever. Here the new ones are stopped by their first fetch.
 */
export function stoppedForGood(original: CreateFetchManager): CreateFetchManager {
  return (options) => {
    let isStopped = false;
    const manager = original({
      ...options,
      async fetch(nodeId) {
        if (!isStopped) return options.fetch(nodeId);
        // It waits for the loop that is here.
        void manager.stop();
        return [];
      },
    });
    return {
      ...manager,
      start() {
        isStopped = false;
        return manager.start();
      },
      stop() {
        isStopped = true;
        return manager.stop();
      },
    };
  };
}
