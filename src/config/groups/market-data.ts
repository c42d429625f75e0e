import { crossCheck } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { group, nullable, setting, text, withSecretFiles } from '../setting.ts';
import { authenticationSettings } from './authentication.ts';
import { baseUrl } from './endpoint.ts';
import { checkInterface, INTERFACE_SECRETS, interfaceSettings } from './provider-interface.ts';

const timeZone = text('a time zone, like UTC or Europe/Zurich').refine(isTimeZone);

/** The same keys as referenceData; without a url there are no prices. */
export function marketDataSettings(secrets: SecretReader) {
  const settings = group({
    url: setting(
      nullable(baseUrl('https://provider.example/market-data')),
      'Where the provider serves market data; without it there are no prices.',
      null,
    ),
    // Most users have one account, and a secret in two places would be rotated in only one of them.
    auth: setting(
      nullable(authenticationSettings(secrets)),
      'How the connector authenticates; null: as at the reference data interface.',
      null,
    ),
    ...interfaceSettings(secrets, 'prices'),
    assumedZone: setting(
      nullable(timeZone),
      'The time zone of instants that are sent without one; null: they are of the wrong type.',
      null,
    ),
  });
  const checked = crossCheck(settings, (value, report) => checkInterface('marketData', value, report));
  return withSecretFiles(
    INTERFACE_SECRETS,
    checked.transform(({ timeout, ...rest }) => ({ ...rest, timeoutMs: timeout })),
  );
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
