import { crossCheck } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { flag, group, setting } from '../setting.ts';
import { registryAuthenticationSettings } from './authentication.ts';
import { baseUrl, requireTls } from './endpoint.ts';

export function schemaRegistrySettings(secrets: SecretReader) {
  const settings = group({
    url: setting(
      baseUrl('https://registry.example/apis/ccompat/v7'),
      "A registry with Confluent's API; its base path included.",
    ),
    register: setting(flag(), 'Register schemas; false: they must be there.', true),
    auth: setting(registryAuthenticationSettings(secrets), 'basic, or none.', { type: 'none' }),
  });
  return crossCheck(settings, ({ url, auth }, report) => {
    // Without credentials there is nothing to overhear: schemas are checked by their content.
    if (auth?.type === 'basic') requireTls(url, ['url'], 'use https when a password is sent', report);
  });
}
