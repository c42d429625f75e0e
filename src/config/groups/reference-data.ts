import { crossCheck } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { group, setting, withSecretFiles } from '../setting.ts';
import { authenticationSettings } from './authentication.ts';
import { baseUrl } from './endpoint.ts';
import { checkInterface, INTERFACE_SECRETS, interfaceSettings } from './provider-interface.ts';

export function referenceDataSettings(secrets: SecretReader) {
  const settings = group({
    url: setting(baseUrl('https://provider.example/reference-data'), 'Where the provider serves reference data.'),
    auth: setting(authenticationSettings(secrets), 'How the connector authenticates.'),
    ...interfaceSettings(secrets, 'sources'),
  });
  const checked = crossCheck(settings, (value, report) => checkInterface('referenceData', value, report));
  return withSecretFiles(
    INTERFACE_SECRETS,
    checked.transform(({ timeout, ...rest }) => ({ ...rest, timeoutMs: timeout })),
  );
}
