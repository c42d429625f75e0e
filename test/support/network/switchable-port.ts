import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { portOf } from './loopback-port.ts';

/**
 * What becomes of connections: cut at once, accepted and never answered, answered with an HTTP status 500, or led on to
 * `host:port`.
 */
export type PortMode = 'cut' | 'hang' | 'fail' | { readonly to: string };

export type SwitchablePort = Awaited<ReturnType<typeof switchablePort>>;

const SERVER_ERROR = 'HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** A port of its own before a server of a test, to make that server fail and come back; closed when the test ends. */
export async function switchablePort(t: Pick<TestContext, 'after'>, first: PortMode) {
  let mode = first;
  let connections = 0;
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    // Errors end in `close`.
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    connections += 1;
    if (mode === 'cut') client.destroy();
    else if (mode === 'fail') client.once('data', () => client.end(SERVER_ERROR));
    else if (mode !== 'hang') leadOn(client, mode.to);
  });

  function leadOn(client: Socket, to: string): void {
    const [host = '', port = ''] = to.split(':');
    const beyond = connect({ host, port: Number(port) });
    keep(beyond);
    client.pipe(beyond).pipe(client);
    client.on('close', () => beyond.destroy());
    beyond.on('close', () => client.destroy());
  }

  return {
    address: `127.0.0.1:${await portOf(t, server)}`,
    /** How many connections there have been. */
    connections: () => connections,
    /** From now on new connections fare so; those that are open are cut. */
    turn(next: PortMode) {
      mode = next;
      for (const socket of open) socket.destroy();
    },
  };
}
