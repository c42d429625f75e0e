import { z } from 'zod';
import { canSign } from '../../support/signing-key.ts';
import type { SecretReader } from '../secret.ts';
import {
  byType,
  crossCheck,
  group,
  nullable,
  oneOf,
  pemFile,
  type Report,
  secret,
  setting,
  text,
  type Unchecked,
  withSecretFiles,
} from '../setting.ts';
import { baseUrl } from './endpoint.ts';

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

const quoted = text('text in quotes');

// RFC 7617: the first colon ends the user's name. A password may follow the colon, so a refused name is not shown.
const user = quoted.refine(
  (name) => !name.includes(':'),
  'has a colon; basic authentication cannot send a name with a colon',
);

/** The ways of authentication at the provider. The type has no default: to send no credentials, users write `none`. */
export function authenticationSettings(secrets: SecretReader) {
  const oauth2 = oauth2Authentication(secrets, 'oauth2 (client credentials), bearer, basic, apiKey or none.', 'openid');
  const apiKey = group({
    type: setting(z.literal('apiKey'), 'A key in a separate header.'),
    header: setting(text('a header name, like x-api-key', HEADER), 'The name of the header.'),
    value: setting(secret(secrets, 'header'), 'The value of the header, or valueFile.'),
  });
  return withSecretFiles(
    ['clientSecret', 'token', 'password', 'value'],
    byType([oauth2, bearerAuthentication(secrets), basicAuthentication(secrets), apiKey, noAuthentication()]),
  ).meta({ wanted: 'type and settings, like { type: oauth2, … }, or { type: none }' });
}

/** The ways of authentication at a schema registry. Empty values, which unset variables give, are ignored. */
export function registryAuthenticationSettings(secrets: SecretReader) {
  const ways = withSecretFiles(
    ['clientSecret', 'password', 'token'],
    byType([
      oauth2Authentication(secrets, 'oauth2 (client credentials), basic, bearer or none.', null),
      basicAuthentication(secrets),
      bearerAuthentication(secrets),
      noAuthentication(),
    ]),
  );
  return z.preprocess(withoutEmpty, ways).meta({
    wanted: 'type and settings, like { type: basic, … }, or { type: none }',
  });
}

function withoutEmpty(given: unknown): unknown {
  if (given === null || typeof given !== 'object') return given;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

function basicAuthentication(secrets: SecretReader) {
  return group({
    type: setting(z.literal('basic'), 'User and password.'),
    user: setting(user, 'The user.'),
    password: setting(secret(secrets, 'secret'), 'The password, or passwordFile.'),
  });
}

function bearerAuthentication(secrets: SecretReader) {
  return group({
    type: setting(z.literal('bearer'), 'A token that another program renews.'),
    token: setting(secret(secrets, 'token'), 'The token, or tokenFile.'),
  });
}

function noAuthentication() {
  return group({ type: setting(z.literal('none'), 'No authentication.') });
}

export function clientSettings(secrets: SecretReader) {
  return {
    clientAuthentication: setting(
      nullable(oneOf(['client_secret_basic', 'client_secret_post', 'private_key_jwt'])),
      'How the client authenticates: client_secret_basic, client_secret_post or private_key_jwt; null: client_secret_basic, or client_secret_post if basic is refused.',
      null,
    ),
    clientSecret: setting(
      nullable(secret(secrets, 'header')),
      'The client secret, or clientSecretFile: a file that is read again when it changes.',
      null,
    ),
    privateKey: setting(
      nullable(pemFile(secrets, 'key')),
      'PEM file of the key that signs, for private_key_jwt.',
      null,
    ),
    keyId: setting(nullable(quoted), 'The id of privateKey at the token endpoint.', null),
    algorithm: setting(
      oneOf(['RS256', 'PS256', 'ES256', 'EdDSA']),
      'The algorithm of privateKey: RS256, PS256, ES256 or EdDSA.',
      'RS256',
    ),
    assertionAudience: setting(nullable(quoted), 'The audience of the signed assertion; null: the token URL.', null),
    audience: setting(nullable(quoted), 'The audience that the token is requested for.', null),
    resource: setting(
      nullable(text('an address, like https://api.example')),
      'The resource that the token is requested for (RFC 8707).',
      null,
    ),
  };
}

function oauth2Authentication(secrets: SecretReader, types: string, scope: string | null) {
  const settings = group({
    type: setting(z.literal('oauth2'), types),
    tokenUrl: setting(baseUrl('https://provider.example/token'), 'The OAuth 2.0 token endpoint.'),
    clientId: setting(quoted, 'The client at the token endpoint.'),
    ...clientSettings(secrets),
    scope: setting(nullable(text('scopes, like openid')), 'The requested scope.', scope),
  });
  return crossCheck(settings, checkClient, ['clientAuthentication']);
}

type Client = Unchecked<Readonly<Record<keyof ReturnType<typeof clientSettings>, unknown>>>;

/** Checks that a client has the secret or the private key that its way of authentication needs. */
export async function checkClient(value: Client, report: Report): Promise<void> {
  const { clientAuthentication, clientSecret, privateKey, algorithm } = value;
  const signs = clientAuthentication === 'private_key_jwt';
  if (signs && !privateKey) report(['privateKey'], 'is missing; private_key_jwt signs with this key');
  if (signs && clientSecret) report(['clientSecret'], 'is not used by private_key_jwt; remove it');
  if (!signs && !clientSecret) report(['clientSecret'], 'is missing; expected the secret as text in quotes');
  for (const name of ['privateKey', 'keyId', 'assertionAudience'] as const) {
    if (!signs && value[name]) report([name], 'needs clientAuthentication: private_key_jwt');
  }
  if (!signs || typeof privateKey !== 'function' || typeof algorithm !== 'string') return;
  if ((await canSign(await privateKey(), algorithm)) === false)
    report(['privateKey'], `is no key for ${algorithm}; use another key, or set algorithm`);
}
