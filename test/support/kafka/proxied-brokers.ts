import type { TestContext } from 'node:test';
import type { LocalKafka } from '../../../src/dev/local-stack/kafka-cluster.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { ownKafkaOrSkip } from './stack.ts';

export interface ProxiedBrokers {
  readonly kafka: LocalKafka;
  /** Before each broker; its clients are asked to connect here. */
  readonly proxies: readonly TcpProxy[];
}

/** A cluster of its own whose brokers each stand behind a proxy; ended with the test. */
export async function proxiedBrokersOrSkip(t: TestContext, nodes: number): Promise<ProxiedBrokers | undefined> {
  const proxies: TcpProxy[] = [];
  t.after(() => Promise.all(proxies.map((proxy) => proxy.close())));
  const kafka = await ownKafkaOrSkip(t, {
    nodes,
    settings: PATIENT_BROKER,
    async advertise(listener, nodeId) {
      const proxy = await startTcpProxy({ broker: listener });
      proxies[nodeId - 1] = proxy;
      return proxy.address;
    },
  });
  return kafka && { kafka, proxies };
}
