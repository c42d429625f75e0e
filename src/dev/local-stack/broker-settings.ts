export type BrokerSettings = Readonly<Record<string, string>>;

// Settings with which a broker starts and recovers quickly, for the demo and for tests. Consumers can have a session
// timeout of 1 s. A killed broker is back after 3 s instead of 15 s. A transaction is aborted within 1 s after its
// timeout. The log cleaner needs 8 MB of heap instead of 128 MB.
const QUICK_SETTINGS: BrokerSettings = {
  'auto.create.topics.enable': 'false',
  'group.min.session.timeout.ms': '1000',
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.num.partitions': '1',
  'log.cleaner.backoff.ms': '1000',
  'log.cleaner.dedupe.buffer.size': '8388608',
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '500',
};

export interface NodeAddress {
  readonly id: number;
  readonly listener: string;
  /** The advertised address, host:port: the listener itself, or a proxy for the listener. */
  readonly advertised: string;
  /** The address of the node's controller listener, host:port. */
  readonly controller: string;
}

/**
 * The settings of one node that is both broker and controller. `all`: the nodes of the cluster. The voters are in the
 * settings, not in the data folder: so a data folder can be opened again with other ports.
 */
export function brokerSettings(node: NodeAddress, all: readonly NodeAddress[], extra: BrokerSettings): BrokerSettings {
  const replicas = String(Math.min(3, all.length));
  const inSync = String(all.length >= 3 ? 2 : 1);
  return {
    'process.roles': 'broker,controller',
    'node.id': String(node.id),
    'controller.quorum.voters': all.map(({ id, controller }) => `${id}@${controller}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    listeners: `PLAINTEXT://${node.listener},CONTROLLER://${node.controller}`,
    'advertised.listeners': `PLAINTEXT://${node.advertised}`,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
    ...QUICK_SETTINGS,
    ...extra,
  };
}

export function asProperties(settings: BrokerSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');
}

/** The environment for the image apache/kafka: `log.dirs` → KAFKA_LOG_DIRS. `_` becomes `__`, and `-` becomes `___`. */
export function asEnvironment(settings: BrokerSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const escaped = name.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_');
      return [`KAFKA_${escaped.toUpperCase()}`, value];
    }),
  );
}
