import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { createProxiedConnection, type ProxiedRequest } from './tcp-proxy-connection.ts';
import { createFaultPlan, type FaultRule, type RuleHandle } from './tcp-proxy-faults.ts';

/** The trace keeps this many requests; a test that needs more should look at its rules' hits instead. */
const MAXIMUM_TRACE_LENGTH = 100_000;

export interface SocketFactoryOptions {
  readonly host: string;
  readonly port: number;
  readonly onConnect: () => void;
}

/** A TCP proxy before one broker that loses, cuts and delays what its rules name, and rewrites nothing. */
export interface TcpProxy {
  /** `127.0.0.1:<port>` of the proxy. */
  readonly address: string;
  /** kafkajs' `socketFactory`: leads every connection here, though the broker advertises its own port. */
  readonly socketFactory: (options: SocketFactoryOptions) => Socket;
  /** Every request seen so far, in order. */
  readonly trace: readonly ProxiedRequest[];
  /** From now on the rule applies; an earlier rule that matches a request goes first. */
  addRule(rule: FaultRule): RuleHandle;
  /** From now on all passes; connections in a black hole stay there. */
  clearRules(): void;
  /** Cuts all connections and stops listening. */
  close(): Promise<void>;
}

/** @param options `broker` is `host:port`. */
export async function startTcpProxy(options: { readonly broker: string }): Promise<TcpProxy> {
  const [brokerHost = '', brokerPort = ''] = options.broker.split(':');
  const plan = createFaultPlan();
  const trace: ProxiedRequest[] = [];
  const open = new Set<{ cut(): void }>();
  let connections = 0;

  const server = createServer((client) => {
    connections += 1;
    const connection = createProxiedConnection({
      number: connections,
      client,
      broker: connect({ host: brokerHost, port: Number(brokerPort) }),
      decide: plan.decide,
      record: (request) => {
        if (trace.length < MAXIMUM_TRACE_LENGTH) trace.push(request);
      },
      closed: () => open.delete(connection),
    });
    open.add(connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const { port } = address;

  return {
    address: `127.0.0.1:${port}`,
    trace,
    addRule: plan.add,
    clearRules: plan.clear,
    socketFactory({ port: asked, onConnect }) {
      // A second broker's connection led to the first one's proxy would fail in ways that nobody understands.
      if (asked !== Number(brokerPort) && asked !== port) throw new Error('This proxy stands before one broker only.');
      return connect({ host: '127.0.0.1', port, noDelay: true }, onConnect);
    },
    close() {
      for (const connection of open) connection.cut();
      return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
    },
  };
}
