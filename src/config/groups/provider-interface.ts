import type { Report, Unchecked } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { decimal, duration, flag, nullable, pemFile, secret, setting, text, wholeNumber } from '../setting.ts';
import { requireTls } from './endpoint.ts';

const noProxy = text(
  'hosts separated by commas, like .example.com,10.0.0.7,172.16.0.0/12',
  /^[\w.*:/[\],\s-]+$/,
).transform((given) => given.split(/[,\s]+/).filter((host) => host !== ''));

/** The secrets among them, for `withSecretFiles`. */
export const INTERFACE_SECRETS = ['proxy'];

/** The common settings of the provider's two interfaces, except address and authentication. */
export function interfaceSettings(secrets: SecretReader, askers: string) {
  return {
    allowHttp: setting(flag(), 'Allow plain http beyond this machine: for tests, never in production.', false),
    timeout: setting(duration('100ms', '1h'), 'For a whole request, its body included.', '30s'),
    maxBodyBytes: setting(wholeNumber(1_024, 1_073_741_824), 'The largest body of a response, decoded.', 67108864),
    requestsPerSecond: setting(
      decimal(0.01, 10_000),
      `Never more requests a second than this, for all ${askers} of all replicas together, tokens included.`,
      20,
    ),
    proxy: setting(
      nullable(secret(secrets, 'the URL of an http proxy in quotes')),
      'An http proxy, which may hold a login; never used for this machine.',
      null,
    ),
    noProxy: setting(
      nullable(noProxy),
      'Hosts that are reached without it, separated by commas: names, .suffixes, host:port, ranges like 10.0.0.0/8, or *.',
      null,
    ),
    ca: setting(nullable(pemFile(secrets)), 'PEM file of the authorities to trust besides the usual ones.', null),
    cert: setting(nullable(pemFile(secrets)), 'PEM file of our client certificate; needs key.', null),
    key: setting(nullable(pemFile(secrets)), 'PEM file of its private key.', null),
  };
}

type Checked = Unchecked<{ url: unknown; auth: unknown; allowHttp: unknown; cert: unknown; key: unknown }>;

/** @param name of the group, for messages: referenceData or marketData */
export function checkInterface(name: string, { url, auth, allowHttp, cert, key }: Checked, report: Report): void {
  if (allowHttp !== true) {
    const remedy = `use https, or set ${name}.allowHttp: true (ALLOW_HTTP=true)`;
    requireTls(url, ['url'], remedy, report);
    const hasTokenUrl = auth !== null && typeof auth === 'object' && 'tokenUrl' in auth;
    if (hasTokenUrl) requireTls(auth.tokenUrl, ['auth', 'tokenUrl'], remedy, report);
  }
  if (Boolean(cert) !== Boolean(key)) report([cert ? 'key' : 'cert'], 'is missing: cert and key go together');
}
