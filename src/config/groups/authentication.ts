import { z } from 'zod';
import type { SecretReader } from '../secret.ts';
import { group, secret, setting, text, withSecretFiles } from '../setting.ts';
import { oauth2Authentication } from './oauth2.ts';

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
  const oauth2 = oauth2Authentication(secrets, 'oauth2 (client credentials), bearer, basic, apiKey or none.', 'openid');
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

/** The ways of authentication at a schema registry; what is empty does not count, so that each can come from the environment. */
export function registryAuthenticationSettings(secrets: SecretReader) {
  const ways = withSecretFiles(
    ['clientSecret', 'password', 'token'],
    z.discriminatedUnion('type', [
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
