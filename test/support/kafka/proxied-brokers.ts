import type { TestContext } from 'node:test';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { ownKafkaOrSkip } from './stack.ts';

/** A cluster of its own whose brokers each stand behind a proxy, to which clients connect; ended with the test. */
export async function proxiedBrokersOrSkip(t: TestContext, nodes: number) {
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
