import type { Report, Unchecked } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { decimal, duration, flag, nullable, pemFile, setting, wholeNumber } from '../setting.ts';
import { requireTls } from './endpoint.ts';
import { proxySettings } from './proxy.ts';

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
    ...proxySettings(secrets),
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
