import type { SecretReader } from '../secret.ts';
import { crossCheck, flag, group, setting, withSecretFiles } from '../setting.ts';
import { registryAuthenticationSettings } from './authentication.ts';
import { baseUrl, checkPair, pemSettings, proxySettings, requireTls } from './endpoint.ts';

export function schemaRegistrySettings(secrets: SecretReader) {
  const settings = group({
    url: setting(
      baseUrl('https://registry.example/apis/ccompat/v7'),
      "A registry with Confluent's API, with its base path.",
    ),
    register: setting(flag(), 'Register schemas; false: the schemas must already be registered.', true),
    auth: setting(registryAuthenticationSettings(secrets), 'oauth2, basic, bearer, or none.', { type: 'none' }),
    ...proxySettings(secrets),
    ...pemSettings(secrets),
  });
  const checked = crossCheck(
    settings,
    ({ url, auth, ...pem }, report) => {
      // Without credentials, http is safe: schemas are no secret, and their content is checked.
      const isSecretSent = auth !== undefined && auth?.type !== 'none';
      if (auth?.type === 'oauth2') requireTls(auth.tokenUrl, ['auth', 'tokenUrl'], 'use https', report);
      if (isSecretSent) requireTls(url, ['url'], 'use https when a password or token is sent', report);
      checkPair(pem, [], report);
    },
    ['auth.type'],
  );
  return withSecretFiles(['proxy'], checked);
}
