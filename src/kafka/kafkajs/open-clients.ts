import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';

const KEEP_ALIVE_DELAY_MS = 60_000;

/** Opens a socket in the same way as kafkajs. */
const openSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl ? connectTls({ host, port, ...name, ...ssl }, onConnect) : connect({ host, port }, onConnect);
  return socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
};

/** A broker that does not answer is avoided for this time. */
const SILENT_MS = 60_000;

/** Opens sockets for kafkajs. `close` ends all sockets: otherwise repeated requests would keep the process alive. */
export class BrokerConnections {
  readonly #brokers: readonly string[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: Random;
  readonly #create: ISocketFactory;
  readonly #open = new Set<Socket>();
  /** By host:port, the monotonic time at which a connection was opened. The broker's next response deletes the time. */
  readonly #silentSinceMs = new Map<string, number>();
  #isClosed = false;
  #answeredMs: number | null = null;

  constructor(
    brokers: readonly string[],
    clock: Pick<Clock, 'monotonicMs'>,
    random: Random,
    create: ISocketFactory = openSocket,
  ) {
    this.#brokers = brokers;
    this.#clock = clock;
    this.#random = random;
    this.#create = create;
  }

  /** Chooses a client's bootstrap broker. Avoids silent brokers, because kafkajs waits long for a frozen broker. */
  choose(): string[] {
    const answering = this.#brokers.filter((broker) => !this.#isSilent(broker));
    const from = answering.length > 0 ? answering : this.#brokers;
    return from.slice(Math.floor(this.#random() * from.length)).slice(0, 1);
  }

  readonly answeredMs = () => this.#answeredMs;

  readonly factory: ISocketFactory = (options) => {
    const broker = `${options.host}:${options.port}`;
    if (!this.#isSilent(broker)) this.#silentSinceMs.set(broker, this.#clock.monotonicMs());
    const socket = this.#create(options);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    socket.on('data', () => {
      this.#silentSinceMs.delete(broker);
      this.#answeredMs = this.#clock.monotonicMs();
    });
    // kafkajs adds its error listener only after this function returns, so the socket ends a moment later.
    if (this.#isClosed) setImmediate(() => end(socket));
    return socket;
  };

  /** Ends all open sockets, and from now on each new socket. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) end(socket);
  }

  #isSilent(broker: string): boolean {
    const sinceMs = this.#silentSinceMs.get(broker);
    return sinceMs !== undefined && this.#clock.monotonicMs() - sinceMs <= SILENT_MS;
  }
}

/** kafkajs passes the error to its waiting requests. A connection that kafkajs has ended itself gets no error. */
function end(socket: Socket): void {
  socket.once('error', () => {});
  socket.destroy(socket.writableEnded ? undefined : new Error('The client of Kafka was closed.'));
}
