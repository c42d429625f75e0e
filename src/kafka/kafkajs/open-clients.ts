import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import type { Clock } from '../../support/clock.ts';
import type { LogClient } from '../log-reading.ts';
import type { TransactionalWriter } from '../transactional-writer.ts';

/** Clients from their opening until they are closed, which takes its time: closing all waits for each. */
export class OpenClients {
  readonly #open = new Set<Promise<void>>();

  async using<Result>(client: LogClient, work: () => Promise<Result>): Promise<Result> {
    const closed = Promise.withResolvers<void>();
    this.#open.add(closed.promise);
    try {
      return await work();
    } finally {
      client.close().finally(() => {
        this.#open.delete(closed.promise);
        closed.resolve();
      });
    }
  }

  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}

const KEEP_ALIVE_DELAY_MS = 60_000;

/** As kafkajs opens them. */
const openSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl ? connectTls({ host, port, ...name, ...ssl }, onConnect) : connect({ host, port }, onConnect);
  return socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
};

/**
 * The connections of all clients. A request that kafkajs repeats while its client disconnects connects again, and nothing
 * would ever close that connection: the process could not end by itself.
 */
export class OpenSockets {
  readonly #open = new Set<Socket>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #create: ISocketFactory;
  #isClosed = false;
  #answeredMs: number | null = null;

  constructor(clock: Pick<Clock, 'monotonicMs'>, create: ISocketFactory = openSocket) {
    this.#clock = clock;
    this.#create = create;
  }

  /** When anything came over one of them, by the monotonic clock; null before the first time. */
  readonly answeredMs = () => this.#answeredMs;

  readonly factory: ISocketFactory = (options) => {
    const socket = this.#create(options);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    socket.on('data', () => {
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
}

/** With an error, which kafkajs passes to every request that waits for a response, unless it has ended the connection itself. */
function end(socket: Socket): void {
  socket.once('error', () => {});
  socket.destroy(socket.writableEnded ? undefined : new Error('The client of Kafka was closed.'));
}

/** A writer whose connections outlive it for a moment. */
export interface ConnectedWriter extends TransactionalWriter {
  /** Resolves when the connections of the closed writer are closed as well, or are left to themselves. Never rejects. */
  disconnected(): Promise<void>;
}

/** The writers that a client's end must close: each from its opening until its user closes it, and its connections. */
export class OpenWriters {
  readonly #open = new Set<ConnectedWriter>();
  readonly #disconnecting = new Set<Promise<void>>();

  /** The writer as its user gets it. */
  watched(writer: ConnectedWriter): TransactionalWriter {
    return {
      open: (readPosition, signal) => {
        this.#open.add(writer);
        return writer.open(readPosition, signal);
      },
      commit: (transaction) => writer.commit(transaction),
      close: () => this.#close(writer),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((writer) => this.#close(writer)));
    await Promise.all(this.#disconnecting);
  }

  async #close(writer: ConnectedWriter): Promise<void> {
    await writer.close();
    this.#open.delete(writer);
    const gone = writer.disconnected().finally(() => this.#disconnecting.delete(gone));
    this.#disconnecting.add(gone);
  }
}
