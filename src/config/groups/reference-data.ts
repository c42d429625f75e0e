import { crossCheck } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { decimal, duration, flag, group, nullable, pemFile, secret, setting, wholeNumber } from '../setting.ts';
import { authenticationSettings } from './authentication.ts';
import { baseUrl, requireTls } from './endpoint.ts';

const ALLOW_HTTP = 'use https, or set referenceData.allowHttp: true (ALLOW_HTTP=true)';

export function referenceDataSettings(secrets: SecretReader) {
  const settings = group({
    url: setting(baseUrl('https://provider.example/reference-data'), 'Where the provider serves reference data.'),
    auth: setting(authenticationSettings(secrets), 'How we show who we are.'),
    allowHttp: setting(flag(), 'Allow plain http beyond this machine: for tests, never in production.', false),
    timeout: setting(duration('100ms', '1h'), 'For a whole request, its body included.', '30s'),
    maxBodyBytes: setting(wholeNumber(1_024, 1_073_741_824), 'The largest body of an answer, decoded.', 67108864),
    requestsPerSecond: setting(decimal(0.01, 10_000), 'Never more requests than this, for all sources together.', 20),
    proxy: setting(
      nullable(secret(secrets, 'the URL of an http proxy in quotes')),
      'An http proxy, which may hold a login; never used for this machine.',
      null,
    ),
    ca: setting(nullable(pemFile(secrets)), 'PEM file of the authorities to trust besides the usual ones.', null),
    cert: setting(nullable(pemFile(secrets)), 'PEM file of our client certificate; needs key.', null),
    key: setting(nullable(pemFile(secrets)), 'PEM file of its private key.', null),
  });
  return crossCheck(settings, ({ url, auth, allowHttp, cert, key }, report) => {
    if (allowHttp !== true) {
      requireTls(url, ['url'], ALLOW_HTTP, report);
      if (auth && 'tokenUrl' in auth) requireTls(auth.tokenUrl, ['auth', 'tokenUrl'], ALLOW_HTTP, report);
    }
    if (Boolean(cert) !== Boolean(key)) report([cert ? 'key' : 'cert'], 'is missing: cert and key go together');
  }).transform(({ timeout, ...rest }) => ({ ...rest, timeoutMs: timeout }));
}
