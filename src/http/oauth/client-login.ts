import { createPrivateKey, webcrypto } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import { ConnectorError } from '../../errors.ts';
import { readEncodedSecret, readSecret, type SecretSource } from '../secret.ts';
import type { AssertionAlgorithm, ClientAuthentication, OAuth2Settings } from './oauth2-settings.ts';

/** A way to authenticate and its secret, as they are now: a client secret, or the PEM text of a private key. */
export interface ClientLogin {
  readonly method: ClientAuthentication;
  readonly secret: string;
}

const KEY_ALGORITHMS: Readonly<
  Record<AssertionAlgorithm, webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams>
> = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  EdDSA: { name: 'Ed25519', namedCurve: 'Ed25519' },
};

/**
 * The client's secret or key as it is now.
 *
 * @param login the settings of the login, for messages
 */
export function readLoginSecret(settings: OAuth2Settings, login: string): Promise<string> {
  return settings.clientAuthentication === 'private_key_jwt'
    ? readEncodedSecret(present(settings.privateKey, `${login}.privateKey`), `${login}.privateKey`)
    : readSecret(present(settings.clientSecret, `${login}.clientSecret`), `${login}.clientSecret`);
}

/** What the library authenticates with. Rejects with TOKEN_FAILED when the key cannot be used: it may be rotated. */
export async function clientAuth(
  { method, secret }: ClientLogin,
  settings: OAuth2Settings,
  login: string,
): Promise<oauth.ClientAuth> {
  if (method === 'client_secret_basic') return oauth.ClientSecretBasic(secret);
  if (method === 'client_secret_post') return oauth.ClientSecretPost(secret);
  const { algorithm = 'RS256', keyId, assertionAudience, tokenUrl } = settings;
  const key = await importKey(secret, algorithm, login);
  return oauth.PrivateKeyJwt(keyId ? { key, kid: keyId } : key, {
    [oauth.modifyAssertion](header, payload) {
      // The name of RFC 8037, which servers know, for what the library calls by its newer one.
      header.alg = algorithm;
      // The library takes the issuer, of which only the token address is known here.
      payload.aud = assertionAudience ?? tokenUrl;
    },
  });
}

async function importKey(pem: string, algorithm: AssertionAlgorithm, login: string): Promise<webcrypto.CryptoKey> {
  try {
    const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
    return await webcrypto.subtle.importKey('pkcs8', der, KEY_ALGORITHMS[algorithm], false, ['sign']);
  } catch (cause) {
    // Not the parser's message, which may quote the key.
    const what = `${login}.privateKey is no PEM text of a private key for ${algorithm}`;
    throw new ConnectorError('TOKEN_FAILED', `${what}; check the file, and ${login}.algorithm.`, { cause });
  }
}

function present(secret: SecretSource | null | undefined, setting: string): SecretSource {
  if (!secret) throw new ConnectorError('SETTINGS_INVALID', `${setting} is missing.`);
  return secret;
}
