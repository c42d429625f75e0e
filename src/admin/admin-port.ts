import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { AdminSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { http } from '../support/node-http.ts';

/** Exported for tests. */
export const MOST_CONNECTIONS = 100;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;

export interface AdminServer {
  /** The base URL of the server, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens the port of the admin server. A process opens this port before all other work. So a second process with the
 * same port fails before it does any work. The code of the listener loads slowly, so only the first request loads it.
 *
 * @param load makes the listener for all requests; if `load` fails, the next request calls `load` again
 * @throws ConnectorError ADMIN_PORT_TAKEN if the server cannot listen.
 */
export async function openAdminPort(
  { host, port }: Pick<AdminSettings, 'host' | 'port'>,
  load: (server: Server) => Promise<RequestListener>,
): Promise<AdminServer> {
  const server = http.createServer({ requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS });
  makeRoom(server);
  let loading: Promise<RequestListener> | null = null;
  server.on('request', async (request, response) => {
    loading ??= load(server).catch((error) => {
      loading = null;
      throw error;
    });
    const answer = await loading.catch(() => null);
    if (answer === null) response.writeHead(500).end();
    else answer(request, response);
  });
  await listening(server, host, port);
  const shownHost = isEverywhere(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shownHost}:${boundPort(server, port)}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** If too many connections are open, a new connection replaces the connection that has been idle longest. */
function makeRoom(server: Server): void {
  let open = 0;
  /** Open connections without a current request, the longest idle first. */
  const idle = new Set<Socket>();
  server.on('connection', (socket) => {
    open += 1;
    idle.add(socket);
    socket.once('close', () => {
      open -= 1;
      idle.delete(socket);
    });
    const [oldest] = idle;
    if (open > MOST_CONNECTIONS) oldest?.destroy();
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}

function listening(server: Server, host: string, port: number): Promise<void> {
  // `localhost` may resolve to an IPv6 address only, and some clients do not try IPv6. So the server then uses IPv4.
  const address = host === 'localhost' ? '127.0.0.1' : host;
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = cause.code ?? 'unknown reason';
      const text = `The admin server cannot listen on ${host}:${port} (${reason}).`;
      reject(new ConnectorError('ADMIN_PORT_TAKEN', text));
    });
    server.listen({ host: address, port }, resolve);
  });
}

/** True if `host` means every address of the machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

export function boundPort(server: Pick<Server, 'address'>, configured: number): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : configured;
}
