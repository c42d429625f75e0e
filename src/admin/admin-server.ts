import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { AdminSettings } from '../config/settings.ts';
import { boundPort, isEverywhere } from './admin-port.ts';
import { addConnectRoutes, type ConnectWorker } from './connect-routes.ts';
import { RestError, sendError, sendNotFound } from './rest-error.ts';
import type { Status } from './status/status.ts';
import { addStatusRoutes, type StatusRoutes } from './status/status-page.ts';

const READING = ['GET', 'HEAD', 'OPTIONS'];

const CHANGES_ARE_OFF =
  'Changes through this server are off, because admin.token is not set. Reading needs no token. To ' +
  'make the change without a token, use the commands spconnect pause, resume, stop, restart or offsets in a shell that ' +
  'has access to Kafka.';

const UNKNOWN_NAME =
  'The Host header of this request is not a name of this server. Use the address of this server, localhost, or a ' +
  'name in admin.allowedHosts.';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const MAXIMUM_BODY_BYTES = 64 * 1024;

export interface AdminServerOptions extends HealthRoutes, StatusRoutes, Omit<ConnectWorker, 'workerId'> {
  readonly settings: Pick<AdminSettings, 'host' | 'port' | 'token' | 'allowedHosts'>;
  /** Resolves when `status` and `metrics` are up to date. Each GET except `/livez` waits for this. */
  readonly refreshed: () => Promise<void>;
}

/** Serves health, metrics, status page and Kafka Connect's REST interface. The caller opens and closes `server`. */
export async function createAdminListener(server: Server, options: AdminServerOptions): Promise<RequestListener> {
  const { host, port } = options.settings;
  let listener: RequestListener | undefined;
  const app = fastify({
    logger: false,
    bodyLimit: MAXIMUM_BODY_BYTES,
    serverFactory(handler) {
      listener = handler;
      return server;
    },
    frameworkErrors: sendError,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  });
  // Tools send the content type of JSON even with an empty body.
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
  app.addHook('onRequest', createAccess(options.settings));

  // `/livez` needs no new status: a process that responds is alive.
  app.addHook('preHandler', async ({ method, url }) => {
    if (method === 'GET' && url !== '/livez') await options.refreshed();
  });

  const workerId = () => `${isEverywhere(host) ? hostname() : host}:${boundPort(server, port)}`;
  const addRefusals = refuseOtherMethods(app);
  addHealthRoutes(app, options);
  addStatusRoutes(app, options);
  addConnectRoutes(app, { ...options, workerId });
  addRefusals();

  await app.ready();
  if (listener === undefined) throw new TypeError('fastify made no listener.');
  return listener;
}

/**
 * Records the methods of all routes that are added later. The caller calls the returned function after the last route.
 * Then all other methods on the paths of these routes get status 405, as in Kafka Connect.
 */
function refuseOtherMethods(app: FastifyInstance): () => void {
  const routed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    routed.set(url, new Set([...(routed.get(url) ?? []), ...[method].flat()]));
  });
  return () => {
    for (const [url, methods] of [...routed]) {
      const allowed = [...methods].sort().join(', ');
      app.route({
        url,
        method: METHODS.filter((method) => !methods.has(method)),
        handler(_request, reply) {
          reply.header('allow', allowed);
          throw new RestError(405, 'HTTP 405 Method Not Allowed');
        },
      });
    }
  };
}

interface HealthRoutes {
  readonly status: () => Status;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
}

function addHealthRoutes(app: FastifyInstance, { status, metrics }: HealthRoutes): void {
  app.get('/livez', (_request, reply) => reply.type('text/plain; charset=utf-8').send('ok\n'));
  app.get<{ Querystring: { verbose?: string } }>('/readyz', ({ query }, reply) => {
    const { ready, checks } = status();
    const lines = checks.map(({ name, ok, why }) => `[${ok ? '+' : '-'}] ${name}: ${why}`);
    const shown = query.verbose !== undefined || !ready ? lines : [];
    const text = [...shown, ready ? 'ready' : 'not ready'].join('\n');
    return reply
      .code(ready ? 200 : 503)
      .type('text/plain; charset=utf-8')
      .send(`${text}\n`);
  });
  app.get('/health', (_request, reply) => {
    const { ready, checks } = status();
    const failed = checks.filter(({ ok }) => !ok).map(({ name, why }) => `${name}: ${why}`);
    const message = ready ? 'Worker has completed startup and is ready to handle requests.' : failed.join('; ');
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'healthy' : 'unhealthy', message });
  });
  app.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
}

/**
 * Every client that reaches the port may read. A change needs the token: as a bearer token, or as the password of basic
 * authentication with any user name. Kafka Connect's tools can send both forms. The web page of another site must not
 * reach this server through a user's browser. So a request to an unknown host name is refused, because the other site
 * can point its host name at this server. A change from a page of another site is refused too: browsers save passwords.
 */
function createAccess({ host, allowedHosts, token }: AdminServerOptions['settings']) {
  return async function checkAccess(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (!isOwnName(request.headers.host, host, allowedHosts ?? [])) throw new RestError(403, UNKNOWN_NAME);
    if (READING.includes(request.method)) return;
    if (isFromAnotherSite(request)) throw new RestError(403, 'Changes from pages of other sites are refused.');
    if (token === null) throw new RestError(403, CHANGES_ARE_OFF);
    const given = credentialOf(request.headers.authorization);
    if (given !== null && isSame(given, await token())) return;
    reply.header('www-authenticate', 'Basic realm="structured-products-connect", charset="UTF-8"');
    throw new RestError(
      401,
      'Changes need admin.token: as a bearer token, or as the password of basic authentication.',
    );
  };
}

function isFromAnotherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== headers.host;
}

function credentialOf(header: string | undefined): string | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S.{0,4095})$/i.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme === '') return null;
  const login = Buffer.from(value, 'base64').toString('utf8');
  return login.includes(':') ? login.slice(login.indexOf(':') + 1) : null;
}

/** The comparison takes the same time for all texts, so that its time reveals nothing about `wanted`. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/**
 * True if a request's `Host` is a name of this server: an address, `localhost`, `admin.host`, or an entry of
 * `admin.allowedHosts`. An entry `.example` means every name with this end, and `*` means every name.
 *
 * The owner of another site can point the host name of the site at this server. Then the browser treats the site and
 * this server as one site, and a page of the site could read responses. But the browser sends the host name in `Host`,
 * so this server refuses the request. A client that sends no `Host` is not a browser.
 */
function isOwnName(given: string | undefined, host: string, allowedHosts: readonly string[]): boolean {
  if (given === undefined || given === '') return true;
  if (!URL.canParse(`http://${given}`)) return false;
  const name = withoutEnds(new URL(`http://${given}`).hostname);
  if (isIP(name) !== 0 || name === 'localhost' || name === withoutEnds(host)) return true;
  return allowedHosts.some((allowed) => {
    if (allowed === '*') return true;
    const known = withoutEnds(allowed).replace(/^\*(?=\.)/, '');
    return known.startsWith('.') ? name.endsWith(known) : name === known;
  });
}

/** Returns the name in lower case, without the brackets of an IPv6 address and without the final dot of a full name. */
function withoutEnds(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$|\.$/g, '');
}
