import type { RequestListener, Server } from 'node:http';
import { hostname } from 'node:os';
import fastify from 'fastify';
import type { AdminSettings } from '../config/settings.ts';
import { createAccess } from './access.ts';
import { boundPort, isEverywhere } from './bound-address.ts';
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

export interface AdminServerOptions extends HealthRoutes, Omit<ConnectReads, 'workerId'>, ConnectWorker {
  readonly settings: Pick<AdminSettings, 'host' | 'port' | 'token' | 'allowedHosts'>;
  readonly operations: ConnectorOperations;
  /** Resolves when `status` and `metrics` are new enough; asked before each request that is answered from them. */
  readonly refreshed: () => Promise<void>;
}

/**
 * What answers on the port: health, metrics, status page, and the part of Kafka Connect's REST interface that its tools
 * use. The server listens already; it is closed by its owner, and nothing else is left open here.
 */
export async function createAdminListener(server: Server, options: AdminServerOptions): Promise<RequestListener> {
  const { host, port, token, allowedHosts } = options.settings;
  let listener: RequestListener | undefined;
  const app = fastify({
    logger: false,
    bodyLimit: MAXIMUM_BODY_BYTES,
    serverFactory(handler) {
      listener = handler;
      return server;
    },
    // Malformed addresses too.
    frameworkErrors: sendError,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  });
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

  const workerId = () => `${isEverywhere(host) ? hostname() : host}:${boundPort(server, port)}`;
  const reads = { ...options, workerId };
  const addRefusals = refuseOtherMethods(app);
  addHealthRoutes(app, options);
  addStatusRoutes(app, options);
  addConnectWorker(app, options);
  addConnectReads(app, reads);
  addConnectChanges(app, reads, options.operations);
  addConnectOffsets(app, reads, options.operations);
  addRefusals();

  await app.ready();
  if (listener === undefined) throw new TypeError('fastify made no listener.');
  return listener;
}
