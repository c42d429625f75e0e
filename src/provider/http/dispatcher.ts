import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { ConnectorError } from '../../errors.ts';
import { CONTENT_PROBLEMS } from '../../support/connection-contents.ts';
import { isLoopback } from '../../support/loopback.ts';
import { http } from '../../support/node-http.ts';
import type { CurrentFiles, NetworkFiles } from './current-files.ts';

const LONGEST_CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;

export interface NetworkOptions extends NetworkFiles {
  /** `referenceData`, `marketData`, `schemaRegistry` or `kafka.sasl`: the name of the settings in messages. */
  readonly name: string;
  /** Files that can change while the process runs. Their content replaces `ca`, `cert`, `key` and `proxy`. */
  readonly files?: CurrentFiles<NetworkFiles> | undefined;
  readonly noProxy?: readonly string[] | undefined;
  /** The time limit of a whole request. The connection must open within half of this time, and within 10 s. */
  readonly timeoutMs: number;
  /** The maximum size of a response in bytes, before decompression; absent: no limit. */
  readonly maxResponseSize?: number;
}

/**
 * Opens connections to one origin. Without a proxy, no connection can go to another origin. Certificates are always
 * verified; no setting disables this. undici's time-outs are off: they begin again at each chunk. Callers set deadlines.
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
    maxResponseSize: network.maxResponseSize ?? -1,
  };
  const proxy = proxyFor(address, network);
  if (proxy === null) return new Pool(address.origin, { ...limits, connect: tls });
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    requestTls: tls,
    proxyTls: tls,
    // The deadline does not cover the CONNECT request to the proxy, so this request needs its own time limit.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: limits.connectTimeout }),
  });
}

function proxyFor(
  address: URL,
  { name, proxy = '', noProxy = [] }: Pick<NetworkOptions, 'name' | 'proxy' | 'noProxy'>,
): string | null {
  return proxy === '' || isLoopback(address.hostname) || isWithoutProxy(address, noProxy)
    ? null
    : proxyAddress(proxy, name);
}

/** Returns the files. Throws SETTINGS_INVALID if no connection can be opened with these files. */
export function usableFiles(name: string, files: NetworkFiles): NetworkFiles {
  secureContextOf({ name, ...files });
  if (files.proxy !== undefined && files.proxy !== '') proxyAddress(files.proxy, name);
  return files;
}

function proxyAddress(proxy: string, name: string): string {
  assertUsable(name, { proxy });
  return new URL(proxy).href;
}

function assertUsable(name: string, files: NetworkFiles): void {
  for (const setting of ['ca', 'cert', 'key', 'proxy'] as const) {
    const content = files[setting];
    const problem = content === undefined ? null : CONTENT_PROBLEMS[setting](content);
    if (problem !== null) throw new ConnectorError('SETTINGS_INVALID', `${name}.${setting} ${problem}.`);
  }
}

/** `besides`: connections trust the authorities in `ca` and the usual authorities. `only`: they trust only `ca`. */
export function secureContextOf(
  { ca, cert, key, name }: Pick<NetworkOptions, 'name' | 'ca' | 'cert' | 'key'>,
  trust: 'besides' | 'only' = 'besides',
): { secureContext?: SecureContext } {
  if (ca === undefined && cert === undefined && key === undefined) return {};
  const usual = trust === 'only' && ca !== undefined ? [] : getCACertificates('default');
  assertUsable(name, { ca, cert, key });
  try {
    // OpenSSL accepts a key of another type, and then sends no certificate.
    if (cert && key && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error('key values mismatch');
    return {
      secureContext: createSecureContext({
        ca: [...usual, ...(ca === undefined ? [] : [ca])],
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      }),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown';
    throw new ConnectorError('SETTINGS_INVALID', `${name}.cert and key cannot be used together (${why}).`, { cause });
  }
}

/** An agent for a library that uses Node.js' own HTTP client, with the certificates and the proxy of `network`. */
export async function openAgent(address: URL, network: NetworkOptions): Promise<Agent> {
  const current = { ...network, ...(await network.files?.get()) };
  const proxy = proxyFor(address, current);
  const proxied = proxy === null ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } };
  if (address.protocol === 'http:') return new http.Agent(proxied);
  return new HttpsAgent({ rejectUnauthorized: true, ...secureContextOf(current), ...proxied });
}

/** Connections to one origin; when the files change, new connections replace the old connections. */
export function openCurrentDispatcher(address: URL, network: NetworkOptions, connections: number) {
  const { files } = network;
  let used = files?.latest();
  let dispatcher = openDispatcher(address, { ...network, ...used }, connections);
  const ending = new Set<Dispatcher>();
  return {
    async get(): Promise<Dispatcher> {
      const newest = await files?.get();
      if (newest === used) return dispatcher;
      const old = dispatcher;
      dispatcher = openDispatcher(address, { ...network, ...newest }, connections);
      used = newest;
      ending.add(old);
      old.close().then(
        () => ending.delete(old),
        () => ending.delete(old),
      );
      return dispatcher;
    },
    async close() {
      await Promise.all([dispatcher, ...ending].map((one) => one.destroy()));
    },
  };
}

/**
 * True if no proxy is used for the address. Each exception has one of four forms: `*` (all addresses); a name (its
 * subdomains too); `name:port`; a range like `10.0.0.0/8`. Names are not resolved. Exported for tests.
 */
export function isWithoutProxy(address: URL, exceptions: readonly string[]): boolean {
  const host = withoutBrackets(address.hostname.toLowerCase());
  const port = address.port || (address.protocol === 'https:' ? '443' : '80');
  return exceptions.some((exception) => {
    // The whole text is compared first, because the end of an IPv6 address looks like a port.
    if (exception === '*' || exception.toLowerCase() === host) return true;
    if (exception.includes('/')) return isInRange(host, exception);
    const [, named = '', onlyPort] = /^(.*?)(?::(\d{1,5}))?$/.exec(exception) ?? [];
    const name = withoutBrackets(named.toLowerCase()).replace(/^\*?\./, '');
    if (onlyPort !== undefined && onlyPort !== port) return false;
    return name !== '' && (host === name || host.endsWith(`.${name}`));
  });
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function isInRange(host: string, range: string): boolean {
  const [, network = '', bits = ''] = /^(.*)\/(\d{1,3})$/.exec(range) ?? [];
  const version = isIP(network);
  if (version === 0 || isIP(host) !== version || Number(bits) > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(host, family);
}
