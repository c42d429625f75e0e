import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

import type { LogClient } from '../log-client.ts';

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
  readonly #create: ISocketFactory;
  #isClosed = false;

  constructor(create: ISocketFactory = openSocket) {
    this.#create = create;
  }

  readonly factory: ISocketFactory = (options) => {
    const socket = this.#create(options);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
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
