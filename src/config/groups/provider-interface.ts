import type { SecretReader } from '../secret.ts';
import {
  crossCheck,
  decimal,
  duration,
  flag,
  group,
  inMilliseconds,
  nullable,
  type Report,
  setting,
  text,
  type Unchecked,
  wholeNumber,
  withSecretFiles,
} from '../setting.ts';
import { authenticationSettings } from './authentication.ts';
import { baseUrl, checkPair, pemSettings, proxySettings, requireTls } from './endpoint.ts';

const timeZone = text('a time zone, like UTC or Europe/Zurich').refine(isTimeZone);

function interfaceSettings(secrets: SecretReader, askers: string) {
  return {
    allowHttp: setting(flag(), 'Allow plain http to other machines: for tests, never in production.', false),
    timeout: setting(
      duration('100ms', '1h'),
      'The longest duration of a request, until the whole response is read.',
      '30s',
    ),
    maxBodyBytes: setting(wholeNumber(1_024, 1_073_741_824), 'The largest decompressed response, bytes.', 67108864),
    requestsPerSecond: setting(
      decimal(0.01, 10_000),
      `The maximum number of requests per second for all ${askers} of all replicas together, token requests included.`,
      20,
    ),
    ...proxySettings(secrets),
    ...pemSettings(secrets),
  };
}

type Checked = Unchecked<{ url: unknown; auth: unknown; allowHttp: unknown; cert: unknown; key: unknown }>;

/** @param name the group's name in messages: referenceData or marketData */
function checkInterface(name: string, { url, auth, allowHttp, ...pem }: Checked, report: Report): void {
  if (allowHttp !== true) {
    const remedy = `use https, or set ${name}.allowHttp: true (ALLOW_HTTP=true)`;
    requireTls(url, ['url'], remedy, report);
    const hasTokenUrl = auth !== null && typeof auth === 'object' && 'tokenUrl' in auth;
    if (hasTokenUrl) requireTls(auth.tokenUrl, ['auth', 'tokenUrl'], remedy, report);
  }
  checkPair(pem, [], report);
}

export function referenceDataSettings(secrets: SecretReader) {
  const settings = group({
    url: setting(baseUrl('https://provider.example/reference-data'), 'Where the provider serves reference data.'),
    auth: setting(authenticationSettings(secrets), 'How the connector authenticates.'),
    ...interfaceSettings(secrets, 'sources'),
  });
  const checked = crossCheck(settings, (value, report) => checkInterface('referenceData', value, report));
  return withSecretFiles(['proxy'], checked.transform(inMilliseconds('timeout')));
}

export function marketDataSettings(secrets: SecretReader) {
  const settings = group({
    url: setting(
      nullable(baseUrl('https://provider.example/market-data')),
      'Where the provider serves market data; without it there are no prices.',
      null,
    ),
    // `auth` is optional, because most users have one account. With two copies of its secret, they may rotate only one.
    auth: setting(
      nullable(authenticationSettings(secrets)),
      'How the connector authenticates; null: as referenceData.auth says.',
      null,
    ),
    ...interfaceSettings(secrets, 'prices'),
    assumedZone: setting(
      nullable(timeZone),
      'The time zone of instants that have no zone; null: such instants count as a wrong type.',
      null,
    ),
  });
  const checked = crossCheck(settings, (value, report) => checkInterface('marketData', value, report));
  return withSecretFiles(['proxy'], checked.transform(inMilliseconds('timeout')));
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
