import { z } from 'zod';
import { crossCheck, type Report, type Unchecked } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { flag, group, nullable, oneOf, pemFile, secret, setting, text, withSecretFiles } from '../setting.ts';
import { baseUrl, requireTls } from './endpoint.ts';
import { checkClient, clientSettings } from './oauth2.ts';
import { proxySettings } from './proxy.ts';

const WANTED_EXTENSIONS = 'names and values, like { logicalCluster: lkc-1 }, or the text logicalCluster=lkc-1,pool=2';

/** Names and values as RFC 7628 (3.1) and the brokers take them; as text for the environment. */
const extensions = z
  .preprocess(
    (given) => (typeof given === 'string' ? Object.fromEntries(given.split(',').map(splitAtEquals)) : given),
    z.record(z.string().regex(/^(?!auth$)[A-Za-z]{1,100}$/), z.string().regex(/^[!-~][ -~]{0,999}$/)),
  )
  .meta({ wanted: WANTED_EXTENSIONS });

/** What only some mechanisms have; each has a default, so that all can come from the environment. */
const OF_PASSWORDS = ['username', 'password'] as const;
const OF_TOKENS = ['token', 'tokenUrl', 'clientId', 'clientSecret', 'privateKey', 'extensions'] as const;

/** Null without a mechanism: no login. */
export function saslSettings(secrets: SecretReader) {
  const settings = group({
    mechanism: setting(
      nullable(oneOf(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])),
      'plain, scram-sha-256, scram-sha-512 or oauthbearer; none: no login.',
      null,
    ),
    username: setting(nullable(text('text in quotes')), 'The user, for plain and scram.', null),
    password: setting(nullable(secret(secrets)), 'The password, or passwordFile.', null),
    token: setting(
      nullable(secret(secrets)),
      'A token that another program renews, for oauthbearer: best tokenFile, which is read again for each login.',
      null,
    ),
    tokenUrl: setting(
      nullable(baseUrl('https://login.example/token')),
      'Or the token endpoint, for oauthbearer by client credentials.',
      null,
    ),
    clientId: setting(nullable(text('text in quotes')), 'The client at the token endpoint.', null),
    ...clientSettings(secrets),
    scope: setting(nullable(text('scopes, like kafka')), 'The requested scope.', null),
    extensions: setting(nullable(extensions), 'SASL extensions that the brokers want, for oauthbearer.', null),
    ...proxySettings(secrets),
    ca: setting(nullable(pemFile(secrets)), 'PEM file of the authorities to trust at the token endpoint.', null),
    allowWithoutTls: setting(
      flag(),
      'Let the login cross networks without TLS: for tests, never in production.',
      false,
    ),
  });
  const checked = crossCheck(settings, checkMechanism).transform(({ mechanism, ...rest }) =>
    mechanism === null ? null : { mechanism, ...rest },
  );
  return withSecretFiles(['password', 'token', 'clientSecret', 'proxy'], checked).meta({
    wanted: '{ mechanism, username, password }, or { mechanism: oauthbearer, … }',
  });
}

type Checked = Unchecked<Readonly<Record<string, unknown>>>;

function checkMechanism(value: Checked, report: Report): void {
  const { mechanism } = value;
  const given = (names: readonly string[]) => names.filter((name) => value[name]);
  if (!mechanism) {
    const [one] = given([...OF_PASSWORDS, ...OF_TOKENS]);
    if (one !== undefined) report(['mechanism'], `is missing beside ${one}; expected plain, scram-… or oauthbearer`);
  } else if (mechanism === 'oauthbearer') {
    for (const name of given(OF_PASSWORDS)) report([name], 'is not used by oauthbearer; remove it');
    checkToken(value, report);
  } else {
    for (const name of given(OF_TOKENS)) report([name], `is not used by ${mechanism}; remove it, or set oauthbearer`);
    for (const name of OF_PASSWORDS.filter((name) => !value[name])) report([name], `is missing for ${mechanism}`);
  }
}

function checkToken(value: Checked, report: Report): void {
  const { token, tokenUrl, clientId, allowWithoutTls } = value;
  if (token) {
    if (tokenUrl) report(['token'], 'is given beside tokenUrl; keep one of them');
  } else if (!tokenUrl) {
    report(['tokenUrl'], 'is missing; oauthbearer needs tokenUrl and a client, or tokenFile');
  } else {
    if (!clientId) report(['clientId'], 'is missing; tokenUrl needs a client');
    checkClient(value, [], report);
    if (allowWithoutTls !== true) requireTls(tokenUrl, ['tokenUrl'], 'use https', report);
  }
}

function splitAtEquals(pair: string): [string, string] {
  const at = pair.indexOf('=');
  return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()];
}
