import { isIP } from 'node:net';
import { isLoopback } from '../../support/loopback.ts';
import type { SettingPath } from '../problem.ts';
import type { SecretReader } from '../secret.ts';
import { nullable, pemFile, type Report, secret, setting, text, type Unchecked } from '../setting.ts';

const noProxy = text(
  'hosts without a scheme, separated by commas (.example.com,10.0.0.7,172.16.0.0/12)',
  /^[\w.*:/[\],\s-]+$/,
)
  .refine((given) => !given.includes('://'))
  .transform(hostsOf);

export function hostsOf(given: string): readonly string[] {
  return given.split(/[,\s]+/).filter((host) => host !== '');
}

/** False for a host of another form: it matches no host, and all requests go through the proxy. */
export function canMatch(host: string): boolean {
  const [, network = host, bits] = /^(.*)\/(\d{1,3})$/.exec(host) ?? [];
  const version = isIP(network);
  if (bits !== undefined || version !== 0) return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
  const [, name = '', address, port] =
    /^(?:((?:\*?\.)?\w[\w-]*(?:\.[\w-]+)*\.?)|\[(.*)\])(?::(\d{1,5}))?$/.exec(host) ?? [];
  const isKnown = address === undefined ? name !== '' : isIP(address) === 6;
  return host === '*' || (isKnown && Number(port ?? 0) <= 65_535);
}

/** A base URL without credentials, query or fragment, so that the URL can be shown and paths can be appended. */
export const baseUrl = (example: string) =>
  text(`an http(s) URL without login, query or fragment, like ${example}`).refine(isBaseUrl);

function isBaseUrl(value: string): boolean {
  const url = parsed(value);
  if (!url || !/^https?:\/\//i.test(value) || /[?#\s]/.test(value) || url.hostname.includes(',')) return false;
  return url.username === '' && url.password === '';
}

/** Allows plain http only on this machine: on a network, anyone can read and change records and credentials. */
export function requireTls(value: unknown, path: SettingPath, remedy: string, report: Report): void {
  const url = parsed(value);
  if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return;
  report(path, `is plain http to another machine; ${remedy}`);
}

function parsed(value: unknown): URL | undefined {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
}

/** The settings of a proxy. A group that contains them must be wrapped by `withSecretFiles` with the key `proxy`. */
export function proxySettings(secrets: SecretReader) {
  return {
    proxy: setting(
      nullable(secret(secrets, 'proxy', 'the URL of an http proxy in quotes')),
      'The URL of an http proxy, with a login if the proxy needs one. Addresses of this machine are reached without the proxy.',
      null,
    ),
    noProxy: setting(
      nullable(noProxy),
      'Hosts that are reached without the proxy, separated by commas. A host is a name, .suffix, host:port or range like 10.0.0.0/8; * means every host.',
      null,
    ),
  };
}

export function pemSettings(
  secrets: SecretReader,
  ca = 'PEM file of authorities to trust in addition to the usual authorities.',
) {
  return {
    ca: setting(nullable(pemFile(secrets, 'ca')), ca, null),
    cert: setting(nullable(pemFile(secrets, 'cert')), 'PEM file of our client certificate; needs key.', null),
    key: setting(nullable(pemFile(secrets, 'key')), 'PEM file of the private key of our client certificate.', null),
  };
}

export function checkPair(
  { cert, key }: Unchecked<Record<'cert' | 'key', unknown>>,
  path: SettingPath,
  report: Report,
) {
  if (Boolean(cert) !== Boolean(key)) report([...path, cert ? 'key' : 'cert'], 'is missing: cert and key go together');
}
