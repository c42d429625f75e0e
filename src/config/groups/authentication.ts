import { z } from 'zod';
import type { SecretReader } from '../secret.ts';
import { group, secret, setting, text, withSecretFiles } from '../setting.ts';
import { baseUrl } from './endpoint.ts';

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/**
 * RFC 7617: the first colon ends the user's name, so a name must not have one. A name with a colon is not shown: a password
 * may be behind it.
 */
const user = text('text in quotes').refine(
  (name) => !name.includes(':'),
  'has a colon, which basic authentication cannot send',
);

/** Every way of authentication at the provider; there is no default, so that "none" is always a decision. */
export function authenticationSettings(secrets: SecretReader) {
  const oauth2 = group({
    type: setting(z.literal('oauth2'), 'oauth2 (client credentials), bearer, basic, apiKey or none.'),
    tokenUrl: setting(baseUrl('https://provider.example/token'), 'The OAuth 2.0 token endpoint.'),
    clientId: setting(text('text in quotes'), 'The client at the token endpoint.'),
    clientSecret: setting(
      secret(secrets),
      'Its secret, or clientSecretFile: a file that is read again when it changes.',
    ),
    scope: setting(text('scopes, like openid'), 'The requested scope.', 'openid'),
  });
  const apiKey = group({
    type: setting(z.literal('apiKey'), 'A header of its own.'),
    header: setting(text('a header name, like x-api-key', HEADER), 'The name of the header.'),
    value: setting(secret(secrets), 'Its value, or valueFile.'),
  });
  return withSecretFiles(
    ['clientSecret', 'token', 'password', 'value'],
    z.discriminatedUnion('type', [
      oauth2,
      bearerAuthentication(secrets),
      basicAuthentication(secrets),
      apiKey,
      noAuthentication(),
    ]),
  ).meta({ wanted: 'type and settings, like { type: oauth2, … }; { type: none } when the provider asks for none' });
}

/** The ways of authentication at a schema registry. */
export function registryAuthenticationSettings(secrets: SecretReader) {
  return withSecretFiles(
    ['password', 'token'],
    z.discriminatedUnion('type', [basicAuthentication(secrets), bearerAuthentication(secrets), noAuthentication()]),
  ).meta({ wanted: 'type and settings, like { type: basic, … }, or { type: none }' });
}

function basicAuthentication(secrets: SecretReader) {
  return group({
    type: setting(z.literal('basic'), 'User and password.'),
    user: setting(user, 'The user.'),
    password: setting(secret(secrets), 'The password, or passwordFile.'),
  });
}

function bearerAuthentication(secrets: SecretReader) {
  return group({
    type: setting(z.literal('bearer'), 'A token that another program renews.'),
    token: setting(secret(secrets), 'The token, or tokenFile.'),
  });
}

function noAuthentication() {
  return group({ type: setting(z.literal('none'), 'No authentication.') });
}
