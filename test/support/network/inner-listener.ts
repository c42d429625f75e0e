import type { NodeAddress } from '../../../src/dev/local-stack/broker-settings.ts';
import { freePorts } from '../../../src/dev/local-stack/free-ports.ts';
import { startTcpProxy } from './tcp-proxy.ts';

/**
 * A listener more for each broker, with a proxy before it: for replication, and for the markers that end a transaction.
 * In production these do not take the clients' way either. All passes the proxies until a rule is added.
 */
export async function innerListeners(nodes: number) {
  const ports = await freePorts(nodes);
  const proxies = await Promise.all(ports.map((port) => startTcpProxy({ broker: `127.0.0.1:${port}` })));
  const settings = ({ id, listener, advertised, controller }: NodeAddress) => ({
    listeners: `PLAINTEXT://${listener},INNER://127.0.0.1:${ports[id - 1]},CONTROLLER://${controller}`,
    'advertised.listeners': `PLAINTEXT://${advertised},INNER://${proxies[id - 1]?.address}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'INNER',
  });
  return { settings, proxies };
}
