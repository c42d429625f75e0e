import { hostname } from 'node:os';
import fastify from 'fastify';
import type { AdminSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { createAccess } from './access.ts';
import { addConnectChanges } from './connect-changes.ts';
import { addConnectOffsets } from './connect-offsets.ts';
import { addConnectReads, type ConnectReads } from './connect-reads.ts';
import { addConnectWorker, type ConnectWorker } from './connect-worker.ts';
import type { ConnectorOperations } from './connector-operations.ts';
import { addHealthRoutes, type HealthRoutes } from './health-routes.ts';
import { refuseOtherMethods } from './other-methods.ts';
import { sendError, sendNotFound } from './rest-error.ts';
import { addStatusRoutes } from './status/status-routes.ts';

const MAXIMUM_BODY_BYTES = 64 * 1024;
const MAXIMUM_CONNECTIONS = 100;
const REQUEST_TIMEOUT_MS = 10_000;

export interface AdminServerOptions extends HealthRoutes, Omit<ConnectReads, 'workerId'>, ConnectWorker {
  readonly settings: Pick<AdminSettings, 'host' | 'port' | 'token' | 'allowedHosts'>;
  readonly operations: ConnectorOperations;
  /** Resolves when `status` and `metrics` are new enough; asked before each request that is answered from them. */
  readonly refreshed: () => Promise<void>;
}

export interface AdminServer {
  /** The base of its addresses, without a slash at the end. */
  readonly url: string;
  /** Ends every connection; safe to call more than once. */
  close(): Promise<void>;
}

/**
 * Health, metrics, status page, and the part of Kafka Connect's REST interface that its tools use.
 *
 * @throws ConnectorError ADMIN_PORT_TAKEN when it cannot listen.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const { host, port, token, allowedHosts } = options.settings;
  const app = fastify({
    logger: false,
    bodyLimit: MAXIMUM_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    // Malformed addresses too.
    frameworkErrors: sendError,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  });
  app.server.maxConnections = MAXIMUM_CONNECTIONS;
  // Tools announce JSON also where they send nothing.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, undefined);
    try {
      done(null, JSON.parse(String(body)));
    } catch {
      done(Object.assign(new Error('The body is not JSON.'), { statusCode: 400 }));
    }
  });
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(sendNotFound);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
  });
  app.addHook('onRequest', createAccess({ host, allowedHosts: allowedHosts ?? [], token }));

  // Whether the process lives is answered without looking at anything.
  app.addHook('preHandler', async ({ method, url }) => {
    if (method === 'GET' && url !== '/livez') await options.refreshed();
  });

  const workerId = () => `${isEverywhere(host) ? hostname() : host}:${portOf(app.server.address(), port)}`;
  const reads = { ...options, workerId };
  const addRefusals = refuseOtherMethods(app);
  addHealthRoutes(app, options);
  addStatusRoutes(app, options);
  addConnectWorker(app, options);
  addConnectReads(app, reads);
  addConnectChanges(app, reads, options.operations);
  addConnectOffsets(app, reads, options.operations);
  addRefusals();

  await app.listen({ host, port }).catch((cause: unknown) => {
    throw cannotListen(`${host}:${port}`, cause);
  });
  const shownHost = isEverywhere(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shownHost}:${portOf(app.server.address(), port)}`,
    close: () => app.close(),
  };
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function portOf(address: { readonly port: number } | string | null, configured: number): number {
  return address !== null && typeof address === 'object' ? address.port : configured;
}

function cannotListen(where: string, cause: unknown): ConnectorError {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  return new ConnectorError('ADMIN_PORT_TAKEN', `The admin server cannot listen on ${where} (${reason}).`, { cause });
}
