/** The parts of kafkajs' cluster that find a coordinator. */
interface Cluster {
  readonly brokerPool: { readonly brokers: Readonly<Record<string, unknown>> };
  refreshMetadata(): Promise<void>;
}

export type FindCoordinator = (this: Cluster, of: object) => Promise<unknown>;

/**
 * Patch N: a client that has just connected knows no broker yet. The original fails for that, asks for the brokers, waits for
 * the first wait between two attempts, 50 ms and more, and asks for the coordinator then. Here it asks for the brokers
 * first; where that fails, the original does as before.
 */
export function knowingBrokers(original: FindCoordinator): FindCoordinator {
  return async function findGroupCoordinator(of) {
    if (Object.keys(this.brokerPool.brokers).length === 0) await this.refreshMetadata().catch(() => {});
    return original.call(this, of);
  };
}
