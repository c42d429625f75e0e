import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  createFrameSplitter,
  type RequestHeader,
  readAnswerCorrelationId,
  readRequestHeader,
} from '../kafka/kafka-wire.ts';
import { type AppliedFault, createFaultPlan, type Fault, type FaultRule, type RuleHandle } from './tcp-proxy-faults.ts';

interface ProxiedRequest extends RequestHeader {
  /** Which of the proxy's connections carried it, from 1. */
  readonly connection: number;
  readonly fault: Fault | undefined;
}

/** One client's connection: frames pass in order in both directions, but for what `decide` says. */
function createProxiedConnection(options: {
  readonly number: number;
  readonly client: Socket;
  readonly broker: Socket;
  readonly decide: (request: RequestHeader) => AppliedFault | undefined;
  readonly record: (request: ProxiedRequest) => void;
  readonly closed: () => void;
}): { cut(): void } {
  const { client, broker } = options;
  const awaited = new Map<number, AppliedFault>();
  let blackHole = false;
  let late: AppliedFault | undefined;

  function cut(): void {
    client.destroy();
    broker.destroy();
  }

  async function onRequest(frame: Buffer): Promise<void> {
    if (blackHole) return void options.record({ ...headerOf(frame), fault: 'blackHole' });
    const header = headerOf(frame);
    const applied = options.decide(header);
    options.record({ ...header, fault: applied?.fault });
    if (applied?.fault === 'cutRequest') return cut();
    if (applied?.fault === 'dropRequest') return;
    if (applied?.fault === 'blackHole') {
      blackHole = true;
      return;
    }
    if (applied?.fault === 'deliverLate') {
      late = applied;
      client.destroy();
      await applied.delay();
    } else if (applied?.fault === 'delayRequest') await applied.delay();
    else if (applied !== undefined) awaited.set(header.correlationId, applied);
    if (!broker.destroyed) broker.write(frame);
  }

  async function onAnswer(frame: Buffer): Promise<void> {
    const correlationId = readAnswerCorrelationId(frame);
    const applied = awaited.get(correlationId);
    awaited.delete(correlationId);
    // Whom it was for has gone.
    if (late) {
      late.onAnsweredLate();
      return void broker.destroy();
    }
    if (blackHole || applied?.fault === 'dropAnswer') return;
    if (applied?.fault === 'cutAnswer') return cut();
    if (applied?.fault === 'delayAnswer') await applied.delay();
    if (!client.destroyed && !blackHole) client.write(frame);
  }

  function headerOf(frame: Buffer) {
    return { ...readRequestHeader(frame), connection: options.number };
  }

  relay(client, onRequest, cut);
  relay(broker, onAnswer, cut);
  client.once('close', () => {
    if (late) return;
    broker.destroy();
    options.closed();
  });
  broker.once('close', () => {
    if (late) options.closed();
    // In a black hole even the broker's hanging up is not seen.
    if (!blackHole) client.destroy();
  });
  return { cut };
}

/** Hands frames on one after the other, so that a delayed one holds back those behind it. */
function relay(from: Socket, onFrame: (frame: Buffer) => Promise<void>, cut: () => void): void {
  const split = createFrameSplitter();
  let queue = Promise.resolve();
  from.setNoDelay(true);
  from.on('data', (chunk) => {
    for (const frame of split(chunk)) queue = queue.then(() => onFrame(frame)).catch(cut);
  });
  // Errors end in `close`, which both sides watch.
  from.on('error', () => undefined);
}

/** The trace keeps this many requests; a test that needs more should look at its rules' hits instead. */
const MAXIMUM_TRACE_LENGTH = 100_000;

export interface SocketFactoryOptions {
  readonly host: string;
  readonly port: number;
  readonly onConnect: () => void;
}

export interface TracedRequest extends ProxiedRequest {
  /** `host:port` of the broker to which it was sent. */
  readonly broker: string;
}

/**
 * TCP proxies, one before each broker of a cluster, that lose, cut and delay what their common rules name, and rewrite
 * nothing. A rule counts over all of them: the one request that it hits is the first to any of the brokers.
 */
export interface TcpProxies {
  /** kafkajs' `socketFactory`: leads every connection to the proxy before its broker, though brokers advertise themselves. */
  readonly socketFactory: (options: SocketFactoryOptions) => Socket;
  readonly trace: readonly TracedRequest[];
  /** From now on the rule applies; an earlier rule that matches a request goes first. */
  addRule(rule: FaultRule): RuleHandle;
  /** From now on all passes; connections in a black hole stay there. */
  clearRules(): void;
  close(): Promise<void>;
}

/** The same before one broker. */
export interface TcpProxy extends TcpProxies {
  /** `127.0.0.1:<port>` of the proxy. */
  readonly address: string;
}

/** @param options `broker` is `host:port`. */
export async function startTcpProxy(options: { readonly broker: string }): Promise<TcpProxy> {
  const { ports, ...proxies } = await startTcpProxies([options.broker]);
  return { ...proxies, address: `127.0.0.1:${ports[0]}` };
}

/** @param brokers `host:port` of each. The answer's `ports` are those of the proxies, in the same order. */
export async function startTcpProxies(brokers: readonly string[]): Promise<TcpProxies & { readonly ports: number[] }> {
  const plan = createFaultPlan();
  const trace: TracedRequest[] = [];
  const open = new Set<{ cut(): void }>();
  let connections = 0;

  const servers = brokers.map((broker) => {
    const [host = '', port = ''] = broker.split(':');
    return createServer((client) => {
      connections += 1;
      const connection = createProxiedConnection({
        number: connections,
        client,
        broker: connect({ host, port: Number(port) }),
        decide: plan.decide,
        record: (request) => {
          if (trace.length < MAXIMUM_TRACE_LENGTH) trace.push({ ...request, broker });
        },
        closed: () => open.delete(connection),
      });
      open.add(connection);
    });
  });
  const ports = await Promise.all(servers.map(listen));

  return {
    ports,
    trace,
    addRule: plan.add,
    clearRules: plan.clear,
    socketFactory({ host, port: asked, onConnect }) {
      const exact = brokers.indexOf(`${host}:${asked}`);
      // A broker may advertise another name of its host than the one by which the tests were given it.
      const found = exact < 0 ? brokers.findIndex((broker) => Number(broker.split(':')[1]) === asked) : exact;
      const port = ports.includes(asked) ? asked : ports[found];
      // A connection led to another broker's proxy would fail in ways that nobody understands.
      if (port === undefined)
        throw new Error(`No proxy is before ${host}:${asked}, only before ${brokers.join(', ')}.`);
      return connect({ host: '127.0.0.1', port, noDelay: true }, onConnect);
    },
    async close() {
      for (const connection of open) connection.cut();
      await Promise.all(servers.map(close));
    },
  };
}

/** @returns the port. */
async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return address.port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
}
