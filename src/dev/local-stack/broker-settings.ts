export type BrokerSettings = Readonly<Record<string, string>>;

// Settings that make a broker quick for a demo and for tests: sessions may be short, a broker that was killed is back
// after 3 s and not 15 s, a timed-out transaction is freed within about 11 s, and the log cleaner asks for 8 MB of
// heap, not 128 MB. What a connector meets in production stays as it is, the 3 s that the first member of a group waits
// for others among it.
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
  /** The address that the broker advertises, host:port: the listener itself, or a proxy before it. */
  readonly advertised: string;
  /** Where the nodes connect among themselves to agree on the cluster's state, host:port. */
  readonly controller: string;
}

/**
 * The settings of one node that is broker and controller, in a cluster of these nodes. The voters are listed in the
 * settings and not kept in the data folder, so that a folder can be opened on other ports.
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

/** The same as environment of the image apache/kafka: `log.dirs` → KAFKA_LOG_DIRS, with `_` and `-` doubled and tripled. */
export function asEnvironment(settings: BrokerSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const escaped = name.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_');
      return [`KAFKA_${escaped.toUpperCase()}`, value];
    }),
  );
}
