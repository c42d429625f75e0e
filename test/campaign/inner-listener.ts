import type { BrokerSettings, NodeAddress } from '../../src/local-stack/broker-settings.ts';
import { freePorts } from '../../src/local-stack/free-ports.ts';

/**
 * Settings of brokers that stand behind proxies, but speak to each other, and to themselves, past them: for replication,
 * and for the markers that end a transaction. In production these do not take the clients' way either.
 */
export async function innerListeners(nodes: number): Promise<(node: NodeAddress) => BrokerSettings> {
  const ports = await freePorts(nodes);
  return ({ id, listener, advertised, controller }) => {
    const inner = `INNER://127.0.0.1:${ports[id - 1]}`;
    return {
      listeners: `PLAINTEXT://${listener},${inner},CONTROLLER://${controller}`,
      'advertised.listeners': `PLAINTEXT://${advertised},${inner}`,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'INNER',
    };
  };
}
