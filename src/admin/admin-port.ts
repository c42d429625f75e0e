import type { RequestListener, Server } from 'node:http';
import type { AdminSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { http } from '../support/node-http.ts';
import { boundPort, isEverywhere } from './bound-address.ts';

const MAXIMUM_CONNECTIONS = 100;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 72_000;

export interface AdminServer {
  /** The base of its addresses, without a slash at the end. */
  readonly url: string;
  /** Ends every connection; safe to call more than once. */
  close(): Promise<void>;
}

/**
 * The port of the admin server. It is open at once, so that a second process on it ends before it does anything. What
 * answers there takes longer to load than Kafka's client, so it is loaded with the first request and not before the
 * first poll.
 *
 * @param load makes what answers requests on this server; called again after it has failed
 * @throws ConnectorError ADMIN_PORT_TAKEN when it cannot listen.
 */
export async function openAdminPort(
  { host, port }: Pick<AdminSettings, 'host' | 'port'>,
  load: (server: Server) => Promise<RequestListener>,
): Promise<AdminServer> {
  const server = http.createServer({ requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS });
  server.maxConnections = MAXIMUM_CONNECTIONS;
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

function listening(server: Server, host: string, port: number): Promise<void> {
  // `localhost` may be the address of the other family alone, which not every client tries.
  const address = host === 'localhost' ? '127.0.0.1' : host;
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = cause.code ?? 'unknown reason';
      const text = `The admin server cannot listen on ${host}:${port} (${reason}).`;
      reject(new ConnectorError('ADMIN_PORT_TAKEN', text, { cause }));
    });
    server.listen({ host: address, port }, resolve);
  });
}
