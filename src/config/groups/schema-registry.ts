import type { SecretReader } from '../secret.ts';
import { crossCheck, flag, group, nullable, pemFile, setting, withSecretFiles } from '../setting.ts';
import { registryAuthenticationSettings } from './authentication.ts';
import { baseUrl, proxySettings, requireTls } from './endpoint.ts';

export function schemaRegistrySettings(secrets: SecretReader) {
  const settings = group({
    url: setting(
      baseUrl('https://registry.example/apis/ccompat/v7'),
      "A registry with Confluent's API; its base path included.",
    ),
    register: setting(flag(), 'Register schemas; false: they must be there.', true),
    auth: setting(registryAuthenticationSettings(secrets), 'oauth2, basic, bearer, or none.', { type: 'none' }),
    ...proxySettings(secrets),
    ca: setting(nullable(pemFile(secrets)), 'PEM file of the authorities to trust besides the usual ones.', null),
    cert: setting(nullable(pemFile(secrets)), 'PEM file of our client certificate; needs key.', null),
    key: setting(nullable(pemFile(secrets)), 'PEM file of its private key.', null),
  });
  const checked = crossCheck(
    settings,
    ({ url, auth, cert, key }, report) => {
      // Without credentials there is nothing to overhear: schemas are checked by their content.
      const isSecretSent = auth !== undefined && auth?.type !== 'none';
      if (auth?.type === 'oauth2') requireTls(auth.tokenUrl, ['auth', 'tokenUrl'], 'use https', report);
      if (isSecretSent) requireTls(url, ['url'], 'use https when a password or token is sent', report);
      if (Boolean(cert) !== Boolean(key)) report([cert ? 'key' : 'cert'], 'is missing: cert and key go together');
    },
    ['auth.type'],
  );
  return withSecretFiles(['proxy'], checked);
}
