import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';

const KEEP_ALIVE_DELAY_MS = 60_000;

/** As kafkajs opens them. */
const openSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl ? connectTls({ host, port, ...name, ...ssl }, onConnect) : connect({ host, port }, onConnect);
  return socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
};

/** A broker that does not answer is not asked first for so long. */
const SILENT_MS = 60_000;

/** A request that kafkajs repeats while its client disconnects connects again: the process could not end by itself. */
export class BrokerConnections {
  readonly #brokers: readonly string[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: Random;
  readonly #create: ISocketFactory;
  readonly #open = new Set<Socket>();
  /** By host:port, from a connection without an answer on. */
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

  /** kafkajs tries another broker only when a connection fails: a frozen first one would keep clients waiting. */
  choose(): string[] {
    const answering = this.#brokers.filter((broker) => !this.#isSilent(broker));
    const from = answering.length > 0 ? answering : this.#brokers;
    return from.slice(Math.floor(this.#random() * from.length)).slice(0, 1);
  }

  /** By the monotonic clock; null before the first time. */
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
    // Its creator listens for the error only once it has it.
    if (this.#isClosed) setImmediate(() => end(socket));
    return socket;
  };

  /** Ends what is open, and from now on each new connection. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) end(socket);
  }

  #isSilent(broker: string): boolean {
    const sinceMs = this.#silentSinceMs.get(broker);
    return sinceMs !== undefined && this.#clock.monotonicMs() - sinceMs <= SILENT_MS;
  }
}

/** kafkajs passes the error to every request that waits, unless it has ended the connection itself. */
function end(socket: Socket): void {
  socket.once('error', () => {});
  socket.destroy(socket.writableEnded ? undefined : new Error('The client of Kafka was closed.'));
}
