import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { ConnectorError } from '../errors.ts';
import { isLoopback } from '../support/loopback.ts';
import { isWithoutProxy } from './proxy-exceptions.ts';

const LONGEST_CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;

/** How to reach the other side; the files of the settings as PEM text. */
export interface NetworkOptions {
  /** `referenceData`, `marketData` or `schemaRegistry`: the settings that messages name. */
  readonly name: string;
  /** Trusted in addition to the usual authorities. */
  readonly ca?: string | undefined;
  /** Our own certificate and its key, where the other side asks for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Address of an HTTP proxy, credentials included. Never used for loopback addresses. */
  readonly proxy?: string | undefined;
  /** Hosts that are reached without it, as in NO_PROXY. */
  readonly noProxy?: readonly string[] | undefined;
  /** Longest time for a whole request; connecting gets half of it, at most 10 s. */
  readonly timeoutMs: number;
}

/**
 * Connections to one origin. Without a proxy the pool is bound to that origin and can connect to no other.
 * Certificates are always verified; there is no switch. undici's own time-outs are off, because they start again with
 * every chunk: a deadline over the whole request takes their place.
 */
export function openDispatcher(address: URL, network: NetworkOptions, connections: number): Dispatcher {
  const tls = { rejectUnauthorized: true, ...secureContextOf(network) };
  const limits = {
    connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: Math.min(LONGEST_CONNECT_MS, network.timeoutMs / 2),
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
    allowH2: false,
  };
  const { proxy = '', noProxy = [] } = network;
  if (proxy === '' || isLoopback(address.hostname) || isWithoutProxy(address, noProxy)) {
    return new Pool(address.origin, { ...limits, connect: tls });
  }
  return new ProxyAgent({
    ...limits,
    uri: proxyAddress(proxy, network.name),
    requestTls: tls,
    proxyTls: tls,
    // Asking the proxy for a tunnel is a part of connecting and not a request with a deadline, so it needs its own limit.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: limits.connectTimeout }),
  });
}

/** The address may hold a password, so messages do not quote it. */
function proxyAddress(proxy: string, name: string): string {
  const uri = URL.parse(proxy);
  if (uri === null || !['http:', 'https:'].includes(uri.protocol)) {
    throw new ConnectorError('SETTINGS_INVALID', `${name}.proxy is not an http or https address.`);
  }
  try {
    decodeURIComponent(uri.username + uri.password);
  } catch {
    throw new ConnectorError('SETTINGS_INVALID', `${name}.proxy has a login with a bare %; write it as %25.`);
  }
  return uri.href;
}

/** What to connect with where PEM files are set; nothing where the usual authorities do. */
export function secureContextOf(network: Pick<NetworkOptions, 'name' | 'ca' | 'cert' | 'key'>): {
  secureContext?: SecureContext;
} {
  const { ca, cert, key, name } = network;
  if (ca === undefined && cert === undefined && key === undefined) return {};
  try {
    return {
      secureContext: createSecureContext({
        ca: [...getCACertificates('default'), ...(ca === undefined ? [] : [ca])],
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      }),
    };
  } catch (cause) {
    throw new ConnectorError('SETTINGS_INVALID', `${name}.ca, cert or key cannot be used as PEM.`, { cause });
  }
}
