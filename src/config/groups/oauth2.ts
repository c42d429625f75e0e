import { z } from 'zod';
import { crossCheck, type Report, type Unchecked } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { group, nullable, oneOf, pemFile, secret, setting, text } from '../setting.ts';
import { baseUrl } from './endpoint.ts';

/** What a client of a token endpoint needs beside its address; the same wherever tokens are used. */
export function clientSettings(secrets: SecretReader) {
  return {
    clientAuthentication: setting(
      nullable(oneOf(['client_secret_basic', 'client_secret_post', 'private_key_jwt'])),
      'How the client authenticates: client_secret_basic, client_secret_post or private_key_jwt; null: basic, or post where that is refused.',
      null,
    ),
    clientSecret: setting(
      nullable(secret(secrets)),
      'Its secret, or clientSecretFile: a file that is read again when it changes.',
      null,
    ),
    privateKey: setting(nullable(pemFile(secrets)), 'PEM file of the key that signs, for private_key_jwt.', null),
    keyId: setting(nullable(text('text in quotes')), 'The id by which the token endpoint knows that key.', null),
    algorithm: setting(
      oneOf(['RS256', 'PS256', 'ES256', 'EdDSA']),
      'Of that key: RS256, PS256, ES256 or EdDSA.',
      'RS256',
    ),
    assertionAudience: setting(
      nullable(text('text in quotes')),
      'For whom the signed assertion is; null: the token URL.',
      null,
    ),
    audience: setting(nullable(text('text in quotes')), 'The audience that the token is requested for.', null),
    resource: setting(
      nullable(text('an address, like https://api.example')),
      'The resource that the token is requested for (RFC 8707).',
      null,
    ),
  };
}

/** Client credentials as a way of authentication of its own. */
export function oauth2Authentication(secrets: SecretReader, types: string, scope: string | null) {
  const settings = group({
    type: setting(z.literal('oauth2'), types),
    tokenUrl: setting(baseUrl('https://provider.example/token'), 'The OAuth 2.0 token endpoint.'),
    clientId: setting(text('text in quotes'), 'The client at the token endpoint.'),
    ...clientSettings(secrets),
    scope: setting(nullable(text('scopes, like openid')), 'The requested scope.', scope),
  });
  return crossCheck(settings, (value, report) => checkClient(value, [], report));
}

type Client = Unchecked<{ clientAuthentication: unknown; clientSecret: unknown; privateKey: unknown }>;

/** A client has the secret, or the key, that its way of authentication needs, and not the other one. */
export function checkClient(value: Client, path: readonly string[], report: Report): void {
  const { clientAuthentication, clientSecret, privateKey } = value;
  const signs = clientAuthentication === 'private_key_jwt';
  if (signs && !privateKey) report([...path, 'privateKey'], 'is missing; private_key_jwt signs with it');
  if (signs && clientSecret) report([...path, 'clientSecret'], 'is not used by private_key_jwt; remove it');
  if (!signs && !clientSecret) report([...path, 'clientSecret'], 'is missing; expected the secret as text in quotes');
  if (!signs && privateKey) report([...path, 'privateKey'], 'needs clientAuthentication: private_key_jwt');
}
