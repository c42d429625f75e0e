import { ConnectorError } from '../../errors.ts';
import type { Authorization, Credentials } from '../../provider/http/credentials.ts';
import { type NetworkOptions, openAgent, openCurrentDispatcher } from '../../provider/http/dispatcher.ts';
import { unansweredText } from '../../provider/http/response-error.ts';
import type { Clock } from '../../support/clock.ts';
import { openDeadline } from '../../support/deadline.ts';
import { untilAborted } from '../../support/until-aborted.ts';

const ANOTHER_SERVICE = [200, 301, 302, 307, 308, 404, 405];
const LARGEST_RESPONSE_BYTES = 4 * 1024 * 1024;
const CONNECTIONS = 4;

export interface RegistryHttpOptions extends Omit<NetworkOptions, 'name'> {
  /** The URL with the base path of the Confluent API and no slash at the end: http://127.0.0.1:8081/apis/ccompat/v7. */
  readonly url: string;
  /** Called before each request, so that a rotated secret is used. */
  readonly authorization?: Authorization;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export interface RegistryResponse {
  /** The method and URL of the request, for messages. */
  readonly from: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type Answer = Omit<RegistryResponse, 'from'>;

interface RegistryRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: object;
}

/** Requests to a registry with Confluent's API. A request without a response in time throws REGISTRY_UNREACHABLE. */
export interface RegistryHttp {
  request(request: RegistryRequest, signal: AbortSignal): Promise<RegistryResponse>;
  /** Registers a schema under a subject that already has the compatibility FULL_TRANSITIVE. */
  register(subject: string, schema: string, signal: AbortSignal): Promise<RegistryResponse>;
}

/**
 * Uses the package `@kafkajs/confluent-schema-registry` only to register schemas. The package sets the compatibility
 * only after it has registered a schema, hides decimal scales and statuses, and has no deadline. The package reports a
 * failed connection as status 400, so its status 400 does not prove a refusal.
 */
export function createRegistryHttp(options: RegistryHttpOptions): RegistryHttp {
  const { url, authorization, timeoutMs, clock } = options;
  const base = new URL(url);
  const network = { ...options, name: 'schemaRegistry', maxResponseSize: LARGEST_RESPONSE_BYTES };
  const connections = openCurrentDispatcher(base, network, CONNECTIONS);

  async function authorized(signal: AbortSignal, send: (credentials: Credentials) => Promise<Answer>): Promise<Answer> {
    const credentials = (await authorization?.headers(signal)) ?? {};
    const response = await send(credentials);
    if (response.status !== 401) return response;
    const renewed = await authorization?.renew(credentials, signal);
    return renewed ? send(renewed) : response;
  }

  async function answered(
    { method, path }: RegistryRequest,
    stop: AbortSignal,
    send: (credentials: Credentials, signal: AbortSignal) => Promise<Answer>,
  ): Promise<RegistryResponse> {
    const from = `${method} ${url}${path}`;
    const unreachable = (text: string, cause?: unknown) => new ConnectorError('REGISTRY_UNREACHABLE', text, { cause });
    const late = () => unreachable(`${from} of ${network.name} was not answered within ${timeoutMs} ms.`);
    const deadline = openDeadline(timeoutMs, clock, late, { outer: stop });
    try {
      const asked = authorized(deadline.signal, (credentials) => send(credentials, deadline.signal));
      return { from, ...(await untilAborted(asked, deadline.signal)) };
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof ConnectorError) throw error;
      throw unreachable(unansweredText(error, `${from} of ${network.name}`, network.name), error);
    } finally {
      deadline.end();
    }
  }

  async function fetchJson(
    { method, path, body }: RegistryRequest,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<Answer> {
    // Redirects are not followed, so that credentials go only to this origin.
    const dispatcher = await connections.get();
    const response = await dispatcher.request({
      origin: base.origin,
      path: `${base.pathname.replace(/\/$/, '')}${path}`,
      method,
      headers: { ...credentials, accept: 'application/json', 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    return { status: response.statusCode, body: asObject(await response.body.text()) };
  }

  return {
    request: (request, stop) =>
      answered(request, stop, (credentials, signal) => fetchJson(request, credentials, signal)),
    register(subject, schema, stop) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions`;
      return answered({ method: 'POST', path }, stop, (credentials, signal) =>
        registerByPackage(network, { subject, schema }, credentials, signal),
      );
    },
  };
}

async function registerByPackage(
  network: NetworkOptions & { readonly url: string },
  { subject, schema }: { readonly subject: string; readonly schema: string },
  credentials: Credentials,
  signal: AbortSignal,
): Promise<Answer> {
  // The package is loaded only here: it loads more slowly than Kafka's client, and a schema is registered once.
  const { COMPATIBILITY, SchemaRegistry, SchemaType } = await import('@kafkajs/confluent-schema-registry');
  const agent = await openAgent(new URL(network.url), network);
  const client = new SchemaRegistry({
    host: network.url,
    retry: { retries: 0 },
    agent,
    middlewares: [() => ({ prepareRequest: async (next) => (await next()).enhance({ headers: credentials, signal }) })],
  });
  try {
    const { id } = await client.register(
      { type: SchemaType.AVRO, schema },
      { subject, compatibility: COMPATIBILITY.FULL_TRANSITIVE, updateConfig: false },
    );
    return { status: 200, body: { id } };
  } catch (error) {
    const status = typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 400;
    if (status === 400) throw error;
    return { status, body: {} };
  } finally {
    agent.destroy();
  }
}

// A response that is not JSON, for example the error page of a proxy, counts as an empty object. Its status is enough.
function asObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** The error code of a registry begins with the status, such as 40401. Another service or path gives none, or 404. */
export function isNotFound(status: unknown, errorCode: unknown): boolean {
  return status === 404 && Math.floor(Number(errorCode) / 100) === 404;
}

/** Returns a hint if the refusal cannot come from a registry, else an empty text. */
export function pathHint({ status, body }: RegistryResponse): string {
  if (isNotFound(status, body.error_code) || !ANOTHER_SERVICE.includes(status)) return '';
  return (
    ` This response does not come from Confluent's API: is the base path missing in schemaRegistry.url (SCHEMA_REGISTRY_URL)? ` +
    'Apicurio has this API below /apis/ccompat/v7, Confluent at the root.'
  );
}
