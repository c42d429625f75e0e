import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { ConnectorError } from '../errors.ts';
import { isLoopback } from '../support/loopback.ts';
import type { CurrentFiles, NetworkFiles } from './current-files.ts';
import { isWithoutProxy } from './proxy-exceptions.ts';
import { Pool, ProxyAgent } from './undici.ts';

const LONGEST_CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;

/** How to reach the other side. The `ca` is trusted in addition to the usual authorities; no proxy is used for loopback. */
export interface NetworkOptions extends NetworkFiles {
  /** `referenceData`, `marketData`, `schemaRegistry` or `kafka.sasl`: the settings that messages name. */
  readonly name: string;
  /** In place of `ca`, `cert`, `key` and `proxy`: files that may change. */
  readonly files?: CurrentFiles<NetworkFiles> | undefined;
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
  const proxy = proxyFor(address, network);
  if (proxy === null) return new Pool(address.origin, { ...limits, connect: tls });
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    requestTls: tls,
    proxyTls: tls,
    // Asking the proxy for a tunnel is a part of connecting and not a request with a deadline, so it needs its own limit.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: limits.connectTimeout }),
  });
}

/** The proxy through which an address is reached; null where it is reached directly. */
export function proxyFor(
  address: URL,
  { name, proxy = '', noProxy = [] }: Pick<NetworkOptions, 'name' | 'proxy' | 'noProxy'>,
): string | null {
  return proxy === '' || isLoopback(address.hostname) || isWithoutProxy(address, noProxy)
    ? null
    : proxyAddress(proxy, name);
}

/**
 * The files, when connections can be opened with them.
 *
 * @throws ConnectorError SETTINGS_INVALID when they cannot be used.
 */
export function usableFiles(name: string, files: NetworkFiles): NetworkFiles {
  secureContextOf({ name, ...files });
  if (files.proxy !== undefined && files.proxy !== '') proxyAddress(files.proxy, name);
  return files;
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

/**
 * What to connect with where PEM files are set; nothing where the usual authorities do.
 *
 * @param trust whether the named authorities count besides the usual ones, or alone
 */
export function secureContextOf(
  { ca, cert, key, name }: Pick<NetworkOptions, 'name' | 'ca' | 'cert' | 'key'>,
  trust: 'besides' | 'only' = 'besides',
): { secureContext?: SecureContext } {
  if (ca === undefined && cert === undefined && key === undefined) return {};
  const usual = trust === 'only' && ca !== undefined ? [] : getCACertificates('default');
  try {
    if (ca !== undefined) parseCertificates(ca);
    return {
      secureContext: createSecureContext({
        ca: [...usual, ...(ca === undefined ? [] : [ca])],
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      }),
    };
  } catch (cause) {
    throw new ConnectorError('SETTINGS_INVALID', `${name}.ca, cert or key cannot be used as PEM.`, { cause });
  }
}

/** Throws unless all of them can be read: TLS passes over what it cannot read, and would trust fewer than are named. */
function parseCertificates(pem: string): void {
  const blocks = pem.match(/-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----[\s\S]*?-----END \1-----/g) ?? [];
  const begun = pem.match(/-----BEGIN /g) ?? [];
  if (blocks.length === 0 || blocks.length < begun.length) throw new Error('The text is not whole certificates.');
  for (const block of blocks) new X509Certificate(block);
}
